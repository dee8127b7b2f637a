package io.gds4j.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.MemoryUses;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Memory that {@link #close()} frees, once, after the I/O that uses it has ended.
 *
 * <pre>{@code
 * try (MemoryAllocation memory = driver.allocate(1 << 20)) {   // of GPU 0, or of the host
 *     handle.read(memory, 0);
 *     byte[] bytes = memory.toByteArray();
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe. The garbage collector logs and frees a forgotten allocation, and names the place that made it; its ranges keep
 * it reachable.
 *
 * @since 0.1
 */
public final class MemoryAllocation implements IoMemory, AutoCloseable {
    private final MemoryRange range;
    private final Lifetime lifetime;
    private final FreeListeners listeners = new FreeListeners();
    /** Needs no synchronisation: a record is immutable, and a second query of the driver is harmless. */
    private @Nullable KnownContext cudaContext;
    /** Null for memory that no allocator made. */
    private volatile MemoryUses.@Nullable Copies<MemoryRange> copies;

    /** @param source the object that asked the CUDA driver, compared by identity */
    private record KnownContext(Object source, long context) {
    }

    private MemoryAllocation(MemoryRange raw, Runnable free) {
        this.range = raw.ownedBy(this);
        FreeListeners freeListeners = listeners; // the lifetime must not refer to the allocation
        long base = raw.address();
        this.lifetime = Lifetime.of(this, raw.kind() + " memory of " + raw.length() + " bytes", () -> {
            freeListeners.notifyAndClear(base);
            free.run();
        });
    }

    /**
     * Makes an allocation that {@code free} frees. For allocators.
     *
     * @param raw the memory, from {@link MemoryRange#ofAddress} or {@link MemoryRange#ofSegment}; a segment's scope must
     *        live until {@code free} is called
     * @param free called exactly once, by {@link #close()} or by a cleaner thread; must not refer to the allocation
     * @return the allocation
     */
    public static MemoryAllocation of(MemoryRange raw, Runnable free) {
        Objects.requireNonNull(free, "free");
        return new MemoryAllocation(raw, free);
    }

    /** {@return the whole memory} */
    @Override
    public MemoryRange range() {
        return range;
    }

    /** {@return address of the first byte, as the CPU or the GPU sees it} */
    public long address() {
        return range.address();
    }

    /** {@return length in bytes} */
    public long length() {
        return range.length();
    }

    /** {@return the kind of memory} */
    public MemoryKind kind() {
        return range.kind();
    }

    /** {@return ordinal of the GPU; {@link MemoryRange#NO_DEVICE} for host memory} */
    public int device() {
        return range.device();
    }

    /**
     * Returns host memory as a segment. After {@link #close()} every access to the segment throws IllegalStateException.
     *
     * @return the whole memory
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID for memory that has no segment: all GPU memory, and host memory made
     *         from a raw address. {@link #copyTo} and {@link #toByteArray} copy it
     */
    public MemorySegment segment() {
        return range.segment()
                .orElseThrow(() -> CuFileException.of(
                        CuFileError.CUDA_MEMORY_TYPE_INVALID,
                        "MemoryAllocation.segment",
                        "%s memory has no segment here; copyTo and toByteArray copy it".formatted(range.kind())));
    }

    /**
     * Returns a part of the memory, which keeps it reachable. I/O may use the part until {@link #close()}.
     *
     * @param offset first byte of the part
     * @param length bytes
     * @return the part
     * @throws CuFileException CUDA_POINTER_RANGE_ERROR if it is not wholly inside
     */
    public MemoryRange slice(long offset, long length) {
        return range.slice(offset, length);
    }

    /**
     * Sets every byte of the memory, of the host or of a GPU; complete on return. A close meanwhile waits.
     *
     * @param value the new value of each byte: its lowest 8 bits count, as of {@code memset}
     * @throws CuFileException as {@link #copyTo}; INVALID_VALUE for read-only memory
     */
    public void fill(int value) {
        whileHeld("MemoryAllocation.fill", by -> by.fill(range, (byte) value));
    }

    /**
     * Copies the first {@code to.byteSize()} bytes to host memory; complete on return. A close meanwhile waits.
     *
     * @param to host memory, native or array
     * @throws CuFileException CUDA_POINTER_RANGE_ERROR if this memory is shorter, CUDA_POINTER_INVALID after close or if the arena of the
     *         segment is closed or belongs to another thread, INVALID_VALUE for a read-only segment, CUDA_MEMORY_TYPE_INVALID for memory that
     *         no allocator of a driver made, such as that of another runtime
     */
    public void copyTo(MemorySegment to) {
        Objects.requireNonNull(to, "to");
        whileHeld("MemoryAllocation.copyTo", by -> by.copyToHost(range, to));
    }

    /**
     * Copies host memory to the start of this memory; complete on return. A close meanwhile waits.
     *
     * @param from host memory, native or array
     * @throws CuFileException as {@link #copyTo}; INVALID_VALUE if this memory is read-only
     */
    public void copyFrom(MemorySegment from) {
        Objects.requireNonNull(from, "from");
        whileHeld("MemoryAllocation.copyFrom", by -> by.copyFromHost(from, range));
    }

    /**
     * Copies an array to the start of this memory, as {@link #copyFrom(MemorySegment)} does.
     *
     * @param from the bytes
     * @throws CuFileException as {@link #copyFrom(MemorySegment)}
     */
    public void copyFrom(byte[] from) {
        copyFrom(MemorySegment.ofArray(from));
    }

    /**
     * Copies the whole memory into a new array, as {@link #copyTo} does.
     *
     * @return the bytes
     * @throws CuFileException as {@link #copyTo}; INVALID_VALUE for 2^31-8 bytes or more
     */
    public byte[] toByteArray() {
        if (length() > Integer.MAX_VALUE - Long.BYTES) {
            throw CuFileException.invalid("MemoryAllocation.toByteArray",
                    "the memory has %s bytes, more than an array may have".formatted(length()));
        }
        byte[] bytes = new byte[(int) length()];
        copyTo(MemorySegment.ofArray(bytes));
        return bytes;
    }

    private void whileHeld(String function, Consumer<MemoryUses.Copies<MemoryRange>> work) {
        MemoryUses.Copies<MemoryRange> by = copies;
        if (by == null) {
            throw CuFileException.of(CuFileError.CUDA_MEMORY_TYPE_INVALID, function,
                    "no allocator of a driver made this memory; MemoryAllocator copies and fills its range()");
        }
        range.retain();
        try {
            work.accept(by);
        } finally {
            range.release();
        }
    }

    /** Lets this memory copy and fill itself. */
    void copiedBy(MemoryUses.Copies<MemoryRange> by) {
        copies = by;
    }

    /** {@return true until {@link #close()}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /** Adds a listener that hears when the memory is freed; it must not refer to the allocation. */
    void beforeFree(LongConsumer listener) {
        listeners.add(listener);
    }

    /** Returns the CUDA context that this source has remembered, or 0. */
    long cudaContext(Object source) {
        KnownContext known = cudaContext;
        return known != null && known.source == source ? known.context : 0;
    }

    void rememberCudaContext(Object source, long context) {
        cudaContext = new KnownContext(source, context);
    }

    Lifetime lifetime() {
        return lifetime;
    }

    /**
     * Waits for I/O that uses the memory, then frees it. Idempotent: a later or simultaneous call returns when it is freed.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, while it is registered with a driver, while
     *         an entry of a batch uses it, while it is lent or given to another runtime, and from inside I/O that uses it; CUDA_DRIVER_ERROR if the driver could not free it
     */
    @Override
    public void close() {
        lifetime.close(this, "MemoryAllocation.close");
    }

    @Override
    public String toString() {
        return "MemoryAllocation[%s, %s]".formatted(range, isOpen() ? "open" : "closed");
    }

    /** The exception for memory that another runtime owns. */
    static CuFileException given() {
        return CuFileException.of(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, "MemoryRange.claim",
                "the memory was given to another runtime, which closes it");
    }

    /** The exception for memory that is closed already. */
    static CuFileException closed() {
        return CuFileException.of(CuFileError.CUDA_POINTER_INVALID, "MemoryRange.retain", "the memory is closed");
    }

    /** The listeners of an allocation. Does not refer to the allocation, so that the cleaner can find a forgotten one. */
    private static final class FreeListeners {
        private final Set<LongConsumer> listeners = new HashSet<>();

        /** Adds a listener; adding it twice has no effect. */
        synchronized void add(LongConsumer listener) {
            listeners.add(listener);
        }

        /** Calls every listener with the address of the allocation, and removes them. */
        void notifyAndClear(long base) {
            List<LongConsumer> all;
            synchronized (this) {
                all = List.copyOf(listeners);
                listeners.clear();
            }
            all.forEach(listener -> listener.accept(base));
        }
    }
}
