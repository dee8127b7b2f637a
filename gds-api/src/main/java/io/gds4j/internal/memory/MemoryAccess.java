package io.gds4j.internal.memory;

import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.MemoryUses;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.lang.invoke.MethodHandles;
import java.util.function.LongConsumer;

/** What only gds4j's own modules may do with memory. */
public final class MemoryAccess {
    private static final MemoryUses<MemoryRange, MemoryAllocation, DmaBuf> USES = uses();

    private MemoryAccess() {
    }

    /** Returns what MemoryRange publishes while it is initialised. */
    @SuppressWarnings("unchecked")
    private static MemoryUses<MemoryRange, MemoryAllocation, DmaBuf> uses() {
        try {
            MethodHandles.lookup().ensureInitialized(MemoryRange.class);
        } catch (IllegalAccessException e) {
            throw new AssertionError("MemoryRange is public", e);
        }
        return (MemoryUses<MemoryRange, MemoryAllocation, DmaBuf>) MemoryUses.published();
    }

    /**
     * Like {@link MemoryRange#retain()} for the time of a call of this thread, inside which freeing the memory is an
     * error.
     */
    public static void enter(MemoryRange range, ThreadState here) {
        USES.enter(range, here);
    }

    /** Ends what {@link #enter} began, innermost first. */
    public static void exit(MemoryRange range, ThreadState here) {
        USES.exit(range, here);
    }

    /**
     * Like {@link MemoryRange#retain()}, but freeing the memory is an error until {@link #unclaim}. For registrations,
     * entries of batches and loans to other runtimes, whose end no thread can wait for.
     */
    public static void claim(MemoryRange range) {
        USES.claim(range);
    }

    /** Ends what {@link #claim} began. */
    public static void unclaim(MemoryRange range) {
        USES.unclaim(range);
    }

    /** Returns the lifetime of a dma-buf, for claims. Their owner must refer to the dma-buf, which keeps it reachable. */
    public static Lifetime lifetime(DmaBuf buffer) {
        return USES.lifetime(buffer);
    }

    /** Returns the lifetime of an allocation, to give it to another runtime. */
    public static Lifetime lifetimeOf(MemoryAllocation allocation) {
        return USES.lifetimeOf(allocation);
    }

    /**
     * Adds a listener that hears when the memory is freed, after its last use and before its address can come again.
     * Called during a use of the memory.
     *
     * @param listener takes the first address, once, on the thread that frees; must not throw, nor refer to the
     *         allocation; adding it twice has no effect
     */
    public static void beforeFree(MemoryAllocation allocation, LongConsumer listener) {
        USES.beforeFree(allocation, listener);
    }

    /**
     * Returns the CUDA context of an allocation if this source, compared by identity, has remembered it, or 0. Asking
     * the driver takes each request 0.1 µs.
     */
    public static long cudaContext(MemoryAllocation allocation, Object source) {
        return USES.cudaContext(allocation, source);
    }

    /** Remembers the CUDA context of an allocation, which is not 0; the last source replaces any other. */
    public static void rememberCudaContext(MemoryAllocation allocation, Object source, long context) {
        USES.rememberCudaContext(allocation, source, context);
    }
}
