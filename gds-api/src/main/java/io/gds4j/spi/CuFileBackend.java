package io.gds4j.spi;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The functions of cuFile that concern files, memory, transfers, batches and streams, in the order of {@code cufile.h};
 * {@link DriverControls} has the others. Functions of cuFile 1.0 are abstract; later ones throw {@link CuFileError#IO_NOT_SUPPORTED} by
 * default, so that a new function breaks no backend.
 *
 * <p>
 * Any thread may call any method. Files and batches that are passed come from the same instance. A failure is a
 * {@link CuFileException} that names the C function; no method returns a status. The object API checks arguments first, but a
 * backend must survive any arguments.
 *
 * <p>
 * The object API obeys these rules:
 * <ul>
 * <li>{@code driverOpen} and {@code driverClose} come in pairs. While the driver is closed, the API calls only {@code name}, and of the
 * controls {@code getVersion}, {@code engineStatistics}, {@code bytesWritten} and the level of statistics.
 * <li>It deregisters a file or range exactly once, after every {@code read} and {@code write} that uses it has returned, and
 * before the driver closes; batches and streams before files and ranges.
 * <li>The memory of a {@code read} or {@code write} stays allocated during the call, the memory of a batch entry until its
 * event has been taken or the batch destroyed.
 * <li>Only the backend knows when stream-ordered I/O ends: the backend {@linkplain MemoryRange#retain retains} the memory, and
 * {@code handleDeregister} waits for the file's operations.
 * </ul>
 *
 * @since 0.1
 */
public interface CuFileBackend {
    /** {@return the provider's name} */
    String name();

    /** {@return the allocator of the memory kinds that this backend supports} */
    MemoryAllocator allocator();

    /** {@return parameters, limits, peer-to-peer and statistics; the same object each time} */
    DriverControls controls();

    // ---- cuFile 1.0: handles, buffers, synchronous I/O, driver

    /**
     * {@code cuFileHandleRegister}; opens the driver if it is closed.
     *
     * @param source the file to register
     * @return the registered file
     * @throws CuFileException INVALID_VALUE for a bad descriptor, INVALID_FILE_TYPE unless it is a file or a block
     *         device, INVALID_FILE_OPEN_FLAG for O_APPEND, HANDLE_ALREADY_REGISTERED for a descriptor registered twice;
     *         with an errno if opening failed
     */
    BackendFile handleRegister(FileSource source);

    /**
     * {@code cuFileHandleDeregister}; ignores a file that is not registered.
     *
     * @param file the file
     */
    void handleDeregister(BackendFile file);

    /**
     * {@code cuFileBufRegister}; opens the driver if it is closed.
     *
     * @param range the memory
     * @param flags bits of the C call
     * @throws CuFileException INVALID_VALUE for an empty range, MEMORY_ALREADY_REGISTERED for the same base twice,
     *         CUDA_POINTER_RANGE_ERROR past the allocation
     */
    void bufRegister(MemoryRange range, int flags);

    /**
     * {@code cuFileBufRegister} without delay. {@link #bufRegister} may delay the call to a library until I/O needs it, and may
     * use the memory unregistered if the library then refuses it; this method throws the refusal. A cache calls this method,
     * since it can make room.
     *
     * @param range the memory
     * @param flags bits of the C call
     * @throws CuFileException as {@link #bufRegister} does, and INVALID_MAPPING_SIZE, GPU_MEMORY_PINNING_FAILED or NOMEM_ERROR
     *         if there is no room to pin it; nothing is registered then
     */
    default void bufRegisterNow(MemoryRange range, int flags) {
        bufRegister(range, flags);
    }

    /**
     * {@code cuFileBufDeregister}: deregisters memory by its exact base address.
     *
     * @param range the memory
     * @throws CuFileException MEMORY_NOT_REGISTERED for another address, DRIVER_CLOSING while the driver is closed
     */
    void bufDeregister(MemoryRange range);

    /**
     * {@code cuFileRead}: fills {@code base}, starting at {@code bufferOffset}.
     *
     * @param file the file
     * @param base the memory
     * @param size bytes
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return bytes read; less than {@code size} only at the end of the file
     */
    long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset);

    /**
     * Returns memory for the default {@link #transfer}, which closes it. Not a function of cuFile. By default it is host memory, pinned
     * for GPUs.
     *
     * @param destination memory of one of the fragments
     * @param bytes bytes that remain to be moved, 1 or more
     * @return memory of at least one byte; 4 MiB at most by default
     */
    default MemoryAllocation stage(MemoryRange destination, long bytes) {
        boolean pinned = destination.kind().isCuda() && allocator().supports(MemoryKind.HOST_PINNED);
        return allocator().allocate(pinned ? MemoryKind.HOST_PINNED : MemoryKind.HOST, Math.min(bytes, 4L << 20));
    }

    /**
     * {@code cuFileWrite}: writes {@code base}, starting at {@code bufferOffset}.
     *
     * @param file the file
     * @param base the memory
     * @param size bytes
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return {@code size}
     */
    long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset);

    /**
     * Serves a call whose thread waits: one with several fragments of memory, or with a report. Not a function of cuFile. By default
     * the backend serves it by {@link #read} and {@link #write}, and reports all bytes under the path of the file: large fragments
     * without gaps directly, and all others by copies from and to a {@link #stage}.
     *
     * @param request the request; destinations of its fragments are disjoint
     * @return bytes moved; less than its size only at the end of the file. Rows past this count are unchanged
     */
    default long transfer(BatchRequest request) {
        return StagedScatter.transfer(this, request);
    }

    /**
     * Returns whether a thread that reads these bytes now is likely to sleep until a disk or a server answers. Several reads should be in
     * flight then. Moves no byte.
     *
     * @param file the file
     * @param fileOffset first byte in the file
     * @param size bytes, 0 or more
     * @return true by default: a backend that cannot tell
     */
    default boolean waitsForDisk(BackendFile file, long fileOffset, long size) {
        return true;
    }

    /** {@code cuFileDriverOpen}: adds a user. */
    void driverOpen();

    /**
     * {@code cuFileDriverClose}: removes a user; the last one waits for I/O in flight and ends all registrations.
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED if it is not open
     */
    void driverClose();

    // ---- cuFile 1.4

    /**
     * {@code cuFileUseCount}: users of the open driver, 0 when closed.
     *
     * @return the number of users
     */
    default long useCount() {
        throw unsupported("cuFileUseCount", "1.4");
    }

    // ---- cuFile 1.6

    /**
     * {@code cuFileBatchIOSetUp}: a batch of up to {@code capacity} outstanding entries.
     *
     * @param capacity entries outstanding at a time
     * @return the batch
     */
    default BackendBatch batchIoSetUp(int capacity) {
        throw unsupported("cuFileBatchIOSetUp", "1.6");
    }

    /**
     * {@code cuFileBatchIOSubmit}: submits all entries or none.
     *
     * @param batch the batch
     * @param requests the entries
     * @param flags bits of the C call
     */
    default void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        throw unsupported("cuFileBatchIOSubmit", "1.6");
    }

    /**
     * {@code cuFileBatchIOGetStatus}: waits for at least {@code minimum} events and returns at most {@code maximum}; fewer on
     * timeout.
     *
     * @param batch the batch
     * @param minimum events to wait for
     * @param maximum events to return at most
     * @param timeout longest wait; unlimited if empty
     * @return the events; each entry is reported once
     */
    default List<BatchEvent> batchIoGetStatus(BackendBatch batch, int minimum, int maximum,
            Optional<Duration> timeout) {
        throw unsupported("cuFileBatchIOGetStatus", "1.6");
    }

    /**
     * {@code cuFileBatchIOCancel}: cancels entries that have not begun.
     *
     * @param batch the batch
     */
    default void batchIoCancel(BackendBatch batch) {
        throw unsupported("cuFileBatchIOCancel", "1.6");
    }

    /**
     * {@code cuFileBatchIODestroy}: cancels, waits and frees.
     *
     * @param batch the batch
     */
    default void batchIoDestroy(BackendBatch batch) {
        throw unsupported("cuFileBatchIODestroy", "1.6");
    }

    // ---- cuFile 1.7

    /**
     * {@code cuFileReadAsync}: a read in the order of a CUDA stream.
     *
     * @param request the operation
     */
    default void readAsync(StreamRequest request) {
        throw unsupported("cuFileReadAsync", "1.7");
    }

    /**
     * {@code cuFileWriteAsync}: a write in the order of a CUDA stream.
     *
     * @param request the operation
     */
    default void writeAsync(StreamRequest request) {
        throw unsupported("cuFileWriteAsync", "1.7");
    }

    /**
     * {@code cuFileStreamRegister}: declares fixed arguments of a stream: 1 buffer offset, 2 file offset, 4 size, 8
     * page-aligned.
     *
     * @param stream raw {@code CUstream}, 0 for the default stream
     * @param flags bits of the C call
     */
    default void streamRegister(long stream, int flags) {
        throw unsupported("cuFileStreamRegister", "1.7");
    }

    /**
     * {@code cuFileStreamDeregister}: ends {@link #streamRegister}.
     *
     * @param stream raw {@code CUstream}, 0 for the default stream
     */
    default void streamDeregister(long stream) {
        throw unsupported("cuFileStreamDeregister", "1.7");
    }

    // ---- cuFile 1.19

    /**
     * {@code cuFileReadv}: fills several ranges from consecutive bytes of the file.
     *
     * @param file the file
     * @param ranges the memory, in the order of the file
     * @param fileOffset first byte in the file
     * @param flags bits of the C call
     * @return bytes read
     */
    default long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        throw unsupported("cuFileReadv", "1.19");
    }

    /**
     * {@code cuFileWritev}: writes several ranges to consecutive bytes of the file.
     *
     * @param file the file
     * @param ranges the memory, in the order of the file
     * @param fileOffset first byte in the file
     * @param flags bits of the C call
     * @return bytes written
     */
    default long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        throw unsupported("cuFileWritev", "1.19");
    }

    private CuFileException unsupported(String function, String since) {
        return CuFileException.of(
                CuFileError.IO_NOT_SUPPORTED,
                function,
                "the backend '%s' does not have this function of cuFile %s".formatted(name(), since));
    }
}
