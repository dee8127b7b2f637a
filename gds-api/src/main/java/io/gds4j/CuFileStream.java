package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.memory.IoMemory;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.StreamRequest;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * A CUDA stream in whose order files are read and written ({@code cuFileReadAsync}, {@code cuFileWriteAsync}).
 *
 * <pre>{@code
 * try (CuFileStream stream = driver.stream(rawStream, Set.of(StreamFlag.FIXED_FILE_SIZE))) {
 *     stream.read(handle, memory, cells);     // returns at once; bytesDone is set before the stream goes on
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe. An operation has the file and the memory until the stream has passed it: closing them waits for that. A stream
 * takes 128 operations that are not over; the call that queues another waits for room. As with any work in a CUDA stream, what
 * lets the stream go on must therefore not come behind too much of it on the same thread. Allocating, pinning and freeing memory
 * through {@code CuFileDriver.allocator()} waits for a moment when no CUDA stream waits for a transfer: CUDA would wait itself, and
 * hold up what moves the bytes. Managed memory is moved by processors while CUDA streams are registered, because the driver's
 * copies of it wait for streams that wait; on a GPU whose managed memory processors may not touch meanwhile, its operations are
 * refused (ASYNC_NOT_SUPPORTED).
 *
 * @since 0.1
 */
@Experimental
public final class CuFileStream implements AutoCloseable {
    private static final long CELL_BYTES = 8;

    private final CuFileDriver driver;
    private final long stream;
    private final Lifetime lifetime;

    private CuFileStream(CuFileDriver driver, long stream) {
        this.driver = driver;
        this.stream = stream;
        CuFileBackend backend = driver.session().backend();
        this.lifetime = driver.session()
                .adopt(
                        Session.Role.FEEDER,
                        this,
                        "CuFileStream 0x%x".formatted(stream),
                        () -> backend.streamDeregister(stream));
    }

    static CuFileStream register(CuFileDriver driver, long stream, int flags) {
        return driver.session().call("cuFileStreamRegister", backend -> {
            backend.streamRegister(stream, flags);
            return new CuFileStream(driver, stream);
        });
    }

    /** {@return raw {@code CUstream}} */
    public long address() {
        return stream;
    }

    /**
     * Queues a read ({@code cuFileReadAsync}).
     *
     * @param handle the file
     * @param memory receives the bytes
     * @param cells host memory that outlives the operation
     * @throws CuFileException for the submission alone: INVALID_VALUE if the stream is closed, HANDLE_NOT_REGISTERED,
     *         INVALID_FILE_OPEN_FLAG, PERMISSION_DENIED, CUDA_POINTER_INVALID or MEMORY_NOT_REGISTERED as
     *         {@link CuFileHandle#read(IoMemory, long, long, long)}, CUDA_MEMORY_TYPE_INVALID for a segment of an arena that
     *         could be closed meanwhile, ASYNC_NOT_SUPPORTED without parallel I/O; what happens later stands in
     *         {@code bytesDone}
     */
    public void read(CuFileHandle handle, IoMemory memory, Cells cells) {
        submit("cuFileReadAsync", handle, memory, cells, false);
    }

    /**
     * Queues a write ({@code cuFileWriteAsync}).
     *
     * @param handle the file
     * @param memory holds the bytes
     * @param cells host memory that outlives the operation
     * @throws CuFileException as {@link #read}
     */
    public void write(CuFileHandle handle, IoMemory memory, Cells cells) {
        submit("cuFileWriteAsync", handle, memory, cells, true);
    }

    private void submit(String function, CuFileHandle handle, IoMemory memory, Cells cells, boolean write) {
        Objects.requireNonNull(cells, "cells");
        RequestCheck checked = new RequestCheck(function, handle.path(), write, -1, -1, 0);
        if (handle.driver().session() != driver.session()) {
            throw checked.failure(CuFileError.HANDLE_NOT_REGISTERED)
                    .detail("the handle belongs to another driver session")
                    .build();
        }
        checked.checkAccess(memory);
        checkOutlivesCall(checked, memory);
        if (!lifetime.enter()) {
            throw CuFileDriver.invalid(function, "the stream is deregistered");
        }
        try {
            handle.enter(checked, memory);
            try {
                queue(new StreamRequest(
                        handle.file(),
                        memory.range(),
                        cells.size(),
                        cells.fileOffset(),
                        cells.bufferOffset(),
                        cells.bytesDone(),
                        stream), write);
            } finally {
                handle.exit(memory);
            }
        } finally {
            lifetime.exit();
        }
    }

    private static void checkOutlivesCall(RequestCheck request, IoMemory memory) {
        try {
            MemoryUse.requireOutlivesCall(memory);
        } catch (CuFileException e) {
            throw request.named(e);
        }
    }

    private void queue(StreamRequest request, boolean write) {
        CuFileBackend backend = driver.session().backend();
        if (write) {
            backend.writeAsync(request);
        } else {
            backend.readAsync(request);
        }
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Deregisters the stream ({@code cuFileStreamDeregister}). Idempotent: any later or simultaneous call returns when it is
     * done.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) from inside a call on this stream
     */
    @Override
    public void close() {
        lifetime.close("cuFileStreamDeregister");
    }

    /**
     * The four 8-byte cells of a stream operation, native and alive until the stream has passed it.
     *
     * @param size bytes to move; at submission an upper bound
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param bytesDone receives the count, or a negative error
     */
    public record Cells(
            MemorySegment size, MemorySegment fileOffset, MemorySegment bufferOffset, MemorySegment bytesDone) {
        /**
         * Checks the cells.
         *
         * @throws CuFileException INVALID_VALUE for a cell over a Java array, of less than 8 bytes, not 8-byte aligned, or of a
         *         closed arena, and for a read-only {@code bytesDone}
         */
        public Cells {
            check("size", size);
            check("fileOffset", fileOffset);
            check("bufferOffset", bufferOffset);
            check("bytesDone", bytesDone);
            if (bytesDone.isReadOnly()) {
                throw invalid("bytesDone is read-only");
            }
        }

        private static void check(String name, MemorySegment cell) {
            if (!cell.isNative() || cell.byteSize() < CELL_BYTES || cell.address() % CELL_BYTES != 0) {
                throw invalid(name + " is not a native, 8-byte aligned cell of 8 bytes");
            }
            if (!cell.scope().isAlive()) {
                throw invalid(name + " is a cell of a closed arena");
            }
        }

        private static CuFileException invalid(String detail) {
            return CuFileDriver.invalid("cuFileReadAsync", detail);
        }
    }
}
