package io.gds4j.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Memory that somebody owns: {@link #close()} frees it, once, after the I/O that uses it has ended.
 *
 * <pre>{@code
 * try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 1 << 20)) {
 *     handle.read(memory.range(), 0);
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe. A forgotten allocation is logged with the place that made it, and freed, when the garbage collector finds
 * it; its ranges keep it alive.
 *
 * @since 0.1
 */
public final class MemoryAllocation implements AutoCloseable {
    private final MemoryRange range;
    private final Lifetime lifetime;
    private final FreeListeners listeners = new FreeListeners();
    private @Nullable Object note;

    private MemoryAllocation(MemoryRange raw, Runnable free) {
        this.range = raw.ownedBy(this);
        FreeListeners told = listeners;
        long base = raw.address();
        this.lifetime = Lifetime.of(this, raw.kind() + " memory of " + raw.length() + " bytes", () -> {
            told.tell(base);
            free.run();
        });
    }

    /**
     * For allocators: memory that {@code free} gives back.
     *
     * @param raw the memory, made by {@link MemoryRange#ofAddress} or {@link MemoryRange#ofSegment}; a segment's scope must
     *        live until {@code free} is called
     * @param free called exactly once, by {@link #close()} or by a cleaner thread; must not refer to the allocation
     * @return the allocation
     */
    public static MemoryAllocation of(MemoryRange raw, Runnable free) {
        Objects.requireNonNull(free, "free");
        return new MemoryAllocation(raw, free);
    }

    /** {@return all of it} */
    public MemoryRange range() {
        return range;
    }

    /** {@return true until {@link #close()}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Lets somebody hear when the memory is freed. For gds4j's own modules, during a use of the memory.
     *
     * @param listener once is enough; must not refer to the allocation
     */
    public void beforeFree(FreeListener listener) {
        listeners.add(listener);
    }

    /**
     * What a backend has found out about the memory and would else find out for each request. For gds4j's own modules.
     *
     * @return what {@link #note(Object)} was given on some thread, or null
     */
    public @Nullable Object note() {
        return note;
    }

    /**
     * Keeps something as long as the memory is there.
     *
     * @param one immutable, its fields final: threads get at it without synchronisation
     */
    public void note(Object one) {
        note = one;
    }

    Lifetime lifetime() {
        return lifetime;
    }

    /**
     * Waits for I/O that uses the memory, then frees it. Idempotent: any later or simultaneous call returns when it is freed.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, while it is registered with a driver, while
     *         an entry of a batch uses it, and from inside I/O that uses it; CUDA_DRIVER_ERROR if the driver could not free it
     */
    @Override
    public void close() {
        lifetime.close("MemoryAllocation.close");
    }

    @Override
    public String toString() {
        return "MemoryAllocation[%s, %s]".formatted(range, isOpen() ? "open" : "closed");
    }

    /** The exception for memory that is closed already. */
    static CuFileException closed() {
        return CuFileException.of(CuFileError.CUDA_POINTER_INVALID, "MemoryRange.retain", "the memory is closed");
    }
}
