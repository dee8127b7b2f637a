package io.gds4j.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Memory that somebody owns: {@link #close()} frees it, once, after the I/O that uses it has ended.
 *
 * <p>
 * Thread-safe. A forgotten allocation is logged with the place that made it, and freed, when the garbage collector finds
 * it.
 *
 * @since 0.1
 */
public final class MemoryAllocation implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final InFlight inFlight = new InFlight();
    private final MemoryRange range;
    private final Free free;
    private final Cleaner.Cleanable cleanable;

    private MemoryAllocation(
            long address,
            long length,
            MemoryKind kind,
            int device,
            @Nullable MemorySegment segment,
            Runnable free,
            String site) {
        this.range = new MemoryRange(address, length, kind, device, segment, this);
        this.free = new Free(free, kind + " memory of " + length + " bytes allocated at " + site);
        this.cleanable = CLEANER.register(this, this.free);
    }

    /**
     * For allocators: memory that {@code free} gives back.
     *
     * @param segment a view of host memory whose scope lives at least as long, or null for memory the host cannot address
     * @param free called exactly once, by {@link #close()} or by a cleaner thread; must not refer to the allocation
     */
    public static MemoryAllocation of(
            long address,
            long length,
            MemoryKind kind,
            int device,
            @Nullable MemorySegment segment,
            Runnable free) {
        Objects.requireNonNull(free, "free");
        return new MemoryAllocation(address, length, kind, device, segment, free, CallSite.outside("io.gds4j."));
    }

    /** All of it. */
    public MemoryRange range() {
        return range;
    }

    /** True until {@link #close()}. */
    public boolean isOpen() {
        return !inFlight.isClosed();
    }

    void retain() {
        if (!inFlight.enter()) {
            throw InFlight.closed(CuFileError.CUDA_POINTER_INVALID, "MemoryRange.retain", "the memory");
        }
    }

    void release() {
        inFlight.exit();
    }

    /**
     * Waits for I/O that uses the memory, then frees it. Idempotent.
     *
     * @throws CuFileException CUDA_DRIVER_ERROR if the driver could not free it
     */
    @Override
    public void close() {
        if (inFlight.close()) {
            free.closedByOwner.set(true);
            cleanable.clean();
        }
    }

    private static final class Free implements Runnable {
        private final AtomicBoolean closedByOwner = new AtomicBoolean();
        private final Runnable action;
        private final String what;

        Free(Runnable action, String what) {
            this.action = action;
            this.what = what;
        }

        @Override
        public void run() {
            if (!closedByOwner.get()) {
                System.getLogger("io.gds4j.memory").log(Level.WARNING, "never closed: {0}", what);
            }
            action.run();
        }
    }
}
