package io.gds4j.internal.memory;

import io.gds4j.internal.lifetime.FreeListener;
import io.gds4j.internal.lifetime.MemoryUses;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.lang.invoke.MethodHandles;

/** Uses of memory that gds4j's own modules begin and end, and programs do not. */
public final class MemoryAccess {
    private static final MemoryUses<MemoryRange, MemoryAllocation, DmaBuf> USES = uses();

    private MemoryAccess() {
    }

    /** The published type is this one: MemoryRange publishes it while it is initialised. */
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
     * Like {@link MemoryRange#retain()} for the time of a call of this thread, inside which freeing the memory is an error.
     *
     * @param range the memory
     * @param here the state of this thread
     * @throws io.gds4j.error.CuFileException as {@link MemoryRange#retain()}
     */
    public static void enter(MemoryRange range, ThreadState here) {
        USES.enter(range, here);
    }

    /**
     * Ends what {@link #enter} began, innermost first.
     *
     * @param range the memory
     * @param here the state of this thread
     */
    public static void exit(MemoryRange range, ThreadState here) {
        USES.exit(range, here);
    }

    /**
     * Like {@link MemoryRange#retain()}, but freeing the memory is an error until {@link #unclaim}. For registrations and
     * entries of batches, whose end no thread can wait for.
     *
     * @param range the memory
     * @throws io.gds4j.error.CuFileException as {@link MemoryRange#retain()}
     */
    public static void claim(MemoryRange range) {
        USES.claim(range);
    }

    /**
     * Ends what {@link #claim} began.
     *
     * @param range the memory
     */
    public static void unclaim(MemoryRange range) {
        USES.unclaim(range);
    }

    /**
     * Makes closing a dma-buf an error until {@link #unclaimDmaBuf}.
     *
     * @param buffer the buffer
     * @return false if it is closed already
     */
    public static boolean claimDmaBuf(DmaBuf buffer) {
        return USES.claimDmaBuf(buffer);
    }

    /**
     * Ends what {@link #claimDmaBuf} began.
     *
     * @param buffer the buffer
     */
    public static void unclaimDmaBuf(DmaBuf buffer) {
        USES.unclaimDmaBuf(buffer);
    }

    /**
     * Adds a listener that hears when the memory is freed. Called during a use of the memory.
     *
     * @param allocation the memory
     * @param listener adding it twice has no effect; must not refer to the allocation
     */
    public static void beforeFree(MemoryAllocation allocation, FreeListener listener) {
        USES.beforeFree(allocation, listener);
    }

    /**
     * The CUDA context of an allocation, if this source has remembered it. Asking the driver takes 0.1 µs for each request.
     *
     * @param allocation the memory
     * @param source compared by identity
     * @return the context, or 0
     */
    public static long cudaContext(MemoryAllocation allocation, Object source) {
        return USES.cudaContext(allocation, source);
    }

    /**
     * Remembers the CUDA context of an allocation; the last source replaces any other.
     *
     * @param allocation the memory
     * @param source compared by identity
     * @param context the context, not 0
     */
    public static void rememberCudaContext(MemoryAllocation allocation, Object source, long context) {
        USES.rememberCudaContext(allocation, source, context);
    }
}
