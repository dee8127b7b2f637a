package io.gds4j.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Optional;

/**
 * Allocates memory of every kind that this machine has, and copies between any two kinds.
 *
 * <p>
 * Thread-safe. Any thread may call it, with or without a current CUDA context; the calls leave the context unchanged.
 *
 * @since 0.1
 */
public interface MemoryAllocator {
    /**
     * Tells whether this machine can allocate memory of this kind. Creates no CUDA context for host kinds.
     *
     * @param kind the kind of memory
     * @return true if it can
     */
    boolean supports(MemoryKind kind);

    /**
     * Returns the kind of memory to choose where a GPU is welcome and not required.
     *
     * @return CUDA_DEVICE if this machine can allocate it, else HOST
     */
    default MemoryKind best() {
        return supports(MemoryKind.CUDA_DEVICE) ? MemoryKind.CUDA_DEVICE : MemoryKind.HOST;
    }

    /**
     * Allocates memory of the kind that {@link #best} returns, on GPU 0 or on the host.
     *
     * @param size bytes
     * @return the memory, to be closed
     * @see #allocate(MemoryKind, long, int)
     */
    default MemoryAllocation allocate(long size) {
        return allocate(best(), size);
    }

    /**
     * Allocates on GPU 0 or on the host.
     *
     * @param kind the kind of memory
     * @param size bytes
     * @return the memory, to be closed
     * @see #allocate(MemoryKind, long, int)
     */
    default MemoryAllocation allocate(MemoryKind kind, long size) {
        return allocate(kind, size, kind.isCuda() ? 0 : MemoryRange.NO_DEVICE);
    }

    /**
     * Allocates {@code size} bytes. Host memory starts on a page boundary and reads as zero, HOST_HUGEPAGE on a 2 MiB
     * boundary; GPU memory starts on a 256-byte boundary or better, with unspecified content.
     *
     * @param kind the kind of memory
     * @param size bytes, 1 or more
     * @param device ordinal of the GPU; ignored for host kinds that need none
     * @return the memory, to be closed
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for a size below 1, CUDA_MEMORY_TYPE_INVALID for a kind that
     *         this machine lacks, DEVICE_NOT_FOUND for a GPU it lacks, NOMEM_ERROR when there is too little memory
     */
    MemoryAllocation allocate(MemoryKind kind, long size, int device);

    /**
     * Copies {@code to.byteSize()} bytes from the start of {@code from} into host memory (native or array).
     *
     * @param from the memory to copy from
     * @param to host memory, native or array
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_RANGE_ERROR if {@code from} is shorter
     */
    void copyToHost(MemoryRange from, MemorySegment to);

    /**
     * Copies {@code from.byteSize()} bytes of host memory (native or array) to the start of {@code to}.
     *
     * @param from host memory, native or array
     * @param to the memory to copy to
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_RANGE_ERROR if {@code to} is shorter
     */
    void copyFromHost(MemorySegment from, MemoryRange to);

    /**
     * Copies {@code from.length()} bytes to the start of {@code to}, between any two kinds and devices. Complete on return.
     *
     * @param from source
     * @param to target
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_RANGE_ERROR if {@code to} is shorter
     */
    void copy(MemoryRange from, MemoryRange to);

    /**
     * Copies rows between any two kinds and devices. Complete on return.
     *
     * @param from source; the first row begins at its start
     * @param fromPitch distance of two rows in the source in bytes, {@code width} or more
     * @param to target; the first row begins at its start
     * @param toPitch distance of two rows in the target in bytes, {@code width} or more
     * @param width bytes of a row, 1 or more
     * @param rows number of rows, 1 or more
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_RANGE_ERROR if a range is shorter than its rows
     */
    default void copyRows(MemoryRange from, long fromPitch, MemoryRange to, long toPitch, long width, long rows) {
        for (long row = 0; row < rows; row++) {
            copy(from.slice(row * fromPitch, width), to.slice(row * toPitch, width));
        }
    }

    /**
     * Returns whether {@link #convert} converts elements in GPU memory.
     *
     * @param from type of the elements, as checkpoints call it: F32, BF16, F8_E4M3, Q4_K and so on
     * @param to F32, F16 or BF16
     * @return false where no GPU has a program for it
     */
    default boolean converts(String from, String to) {
        return false;
    }

    /**
     * Converts elements by a kernel of the GPU that holds them. Values are rounded to the nearest one, ties to even; blocks of ggml have
     * the values that ggml computes. Complete on return.
     *
     * @param from whole elements or blocks, in GPU memory, at any address
     * @param fromType their type
     * @param to memory of the same GPU for as many elements, apart from {@code from}; its address is a multiple of the size of an element
     * @param toType F32, F16 or BF16
     * @throws io.gds4j.error.CuFileException IO_NOT_SUPPORTED for types that {@link #converts} denies; INVALID_VALUE for ranges that do not fit
     */
    default void convert(MemoryRange from, String fromType, MemoryRange to, String toType) {
        throw CuFileException.of(CuFileError.IO_NOT_SUPPORTED, "MemoryAllocator.convert",
                "%s in %s memory does not become %s in %s memory here".formatted(fromType, from.kind(), toType,
                        to.kind()));
    }

    /**
     * Sets every byte of the range.
     *
     * @param range the memory
     * @param value the new value of each byte
     */
    void fill(MemoryRange range, byte value);

    /**
     * Estimates the bytes that an allocation of this kind could take now.
     *
     * @param kind the kind of memory
     * @param device ordinal of the GPU, or {@link MemoryRange#NO_DEVICE} for host memory
     * @return the estimate of the driver or the kernel; {@link Long#MAX_VALUE} if there is none
     */
    long available(MemoryKind kind, int device);

    /**
     * Prepares for transfers to or from memory of a GPU: makes the GPU's primary CUDA context, pinned staging memory, CUDA streams and kernels,
     * and returns once all is made. That takes a few tenths of a second, most of it for the context. After it no request makes a call
     * that waits for the GPU's other work, whether threads, streams or kernels of the program wait for the request or not.
     *
     * <p>
     * The first request of a GPU does the same, and returns once all is made; an allocation of 64 MiB and more begins it on other threads. So a
     * program calls this if its own kernels or streams will wait for requests before one has ended, or if it does other things first,
     * such as reading headers. Waits until no stream waits for an operation. Repeated calls cost nothing. Does nothing for host memory.
     *
     * @param kind the kind of memory that the program will allocate
     * @param device ordinal of the GPU, or {@link MemoryRange#NO_DEVICE} for host memory
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID without a CUDA driver, DEVICE_NOT_FOUND for a GPU that is not there
     */
    default void prepare(MemoryKind kind, int device) {
        // There is nothing to prepare.
    }

    /**
     * Begins what {@link #prepare} makes, on other threads. Returns at once and never fails: a later call reports what is wrong.
     *
     * @param kind the kind of memory that the program will allocate
     * @param device ordinal of the GPU
     */
    default void expect(MemoryKind kind, int device) {
        // There is nothing to prepare.
    }

    /**
     * Finds the allocation that contains memory of a raw address.
     *
     * @param range any memory
     * @return empty for memory that this allocator does not know, and for kinds whose allocations have no reliable id: all but
     *         memory of {@code cuMemAlloc} and of pools
     */
    default Optional<AllocationTag> allocationOf(MemoryRange range) {
        return Optional.empty();
    }

    /**
     * Tells whether the allocation still exists, with no other one in its place. A concurrent free may not be seen.
     *
     * @param tag a tag of {@link #allocationOf}
     * @return true if it still exists
     */
    default boolean isCurrent(AllocationTag tag) {
        return false;
    }

    /**
     * Returns the pages of a HOST or HOST_HUGEPAGE allocation of this allocator.
     *
     * @param allocation the memory
     * @return empty for other memory
     */
    default Optional<HostPages> pages(MemoryAllocation allocation) {
        return Optional.empty();
    }

    /**
     * Wraps memory that the program allocated by other means. The kind of memory comes from the CUDA driver
     * ({@code cuPointerGetAttributes}). The caller is responsible for the address, as with {@link MemoryRange#ofAddress}.
     *
     * @param address first byte, not 0
     * @param length bytes, 0 or more
     * @return the range: HOST for memory that the driver does not know
     * @throws CuFileException CUDA_POINTER_RANGE_ERROR if it reaches past its allocation, INVALID_VALUE as
     *         {@link MemoryRange#ofAddress}
     */
    default MemoryRange wrap(long address, long length) {
        return MemoryRange.ofAddress(address, length, MemoryKind.HOST);
    }

    /**
     * Pins host memory of the program for all GPUs ({@code cuMemHostRegister}).
     *
     * @param segment native memory, which must stay allocated until the allocation is closed
     * @return the memory as HOST_REGISTERED: closing it unpins the memory and frees nothing
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID without a CUDA driver, MEMORY_ALREADY_REGISTERED if pages of it are
     *         pinned already, INVALID_VALUE for an empty segment, and as {@link MemoryRange#ofSegment}
     */
    default MemoryAllocation pin(MemorySegment segment) {
        throw unsupported("MemoryAllocator.pin", "this allocator pins no memory");
    }

    /**
     * Moves the pages of managed memory to a GPU or to the host ({@code cuMemPrefetchAsync}); complete on return. Copies that
     * follow, such as those of a read, cause no page faults there.
     *
     * @param range managed memory
     * @param device ordinal of the GPU, or {@link MemoryRange#NO_DEVICE} for the host
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID for other memory, DEVICE_NOT_FOUND for a GPU that is not there,
     *         CUDA_DRIVER_ERROR if the system cannot move them
     */
    default void prefetch(MemoryRange range, int device) {
        throw unsupported("MemoryAllocator.prefetch", "this allocator has no managed memory");
    }

    /**
     * Reserves GPU memory that can grow; it begins with one page of the GPU.
     *
     * @param maximum bytes of addresses to reserve, 1 or more
     * @param device ordinal of the GPU
     * @return the memory, to be closed
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID if the GPU has no CUDA_VMM memory; otherwise as {@link #allocate}
     */
    default GrowableMemory growable(long maximum, int device) {
        throw unsupported("MemoryAllocator.growable", "this allocator has no memory that grows");
    }

    /**
     * Waits until a CUDA stream has finished the work that is queued on it now ({@code cuStreamSynchronize}).
     *
     * @param stream a raw {@code CUstream}; 0, 1 and 2 are the default streams of the current context, or of the primary
     *        context of GPU 0 if the thread has none
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID without a CUDA driver, INVALID_VALUE for a negative handle,
     *         CUDA_DRIVER_ERROR for a handle that the driver refuses, or if work of the stream failed
     */
    default void awaitStream(long stream) {
        throw unsupported("cuStreamSynchronize", "there is no CUDA driver, so 0x%x is no stream".formatted(stream));
    }

    /** {@return what is allocated of each kind; kinds that were never allocated are absent} */
    default Map<MemoryKind, MemoryUsage> usage() {
        return Map.of();
    }

    /**
     * Exports GPU memory as a dma-buf ({@code cuMemGetHandleForAddressRange}), in whole pages of the host. From then on
     * synchronous CUDA copies to and from the allocation return when they are complete (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS).
     *
     * @param range CUDA_DEVICE or CUDA_VMM memory
     * @return the buffer, to be closed before the memory
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID for memory of other kinds, INVALID_VALUE for an empty range,
     *         CUDA_POINTER_RANGE_ERROR if the allocation begins inside a page or ends before the range, IO_NOT_SUPPORTED where
     *         GPU or driver export none
     */
    default DmaBuf exportDmaBuf(MemoryRange range) {
        throw unsupported("cuMemGetHandleForAddressRange", "this allocator has no GPU memory to export");
    }

    /**
     * Makes writes of other devices into a GPU's memory visible to CUDA work that is launched later
     * ({@code cuFlushGPUDirectRDMAWrites}). Not needed for bytes that gds4j moves: its calls return when CUDA work sees them.
     *
     * @param device ordinal of the GPU
     * @return false if nothing was necessary: without a GPU driver, or where such writes are always ordered
     * @throws CuFileException DEVICE_NOT_FOUND for a GPU that is not there, CUDA_DRIVER_ERROR if the driver failed
     */
    default boolean flushDeviceWrites(int device) {
        return false;
    }

    private static CuFileException unsupported(String function, String detail) {
        return CuFileException.of(CuFileError.CUDA_MEMORY_TYPE_INVALID, function, detail);
    }
}
