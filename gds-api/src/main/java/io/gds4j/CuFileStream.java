package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.StreamRequest;
import java.lang.foreign.MemorySegment;

/**
 * A CUDA stream in whose order files are read and written ({@code cuFileReadAsync}, {@code cuFileWriteAsync}).
 *
 * @since 0.1
 */
@Experimental
public final class CuFileStream implements AutoCloseable {
    private static final long CELL_BYTES = 8;

    private final CuFileDriver driver;
    private final long stream;
    private final Resource resource;

    private CuFileStream(CuFileDriver driver, long stream) {
        this.driver = driver;
        this.stream = stream;
        Session session = driver.session();
        this.resource = Resource.of(
                this,
                session,
                "cuFileStreamRegister",
                "CuFileStream 0x%x".formatted(stream),
                () -> session.backend().streamDeregister(stream));
    }

    static CuFileStream register(CuFileDriver driver, long stream, int flags) {
        driver.session().backend().streamRegister(stream, flags);
        return new CuFileStream(driver, stream);
    }

    /** Raw {@code CUstream}. */
    public long address() {
        return stream;
    }

    /**
     * Queues a read ({@code cuFileReadAsync}).
     *
     * @param cells host memory that outlives the operation
     */
    public void read(CuFileHandle handle, IoMemory memory, Cells cells) {
        submit("cuFileReadAsync", handle, memory, cells, false);
    }

    /** Queues a write ({@code cuFileWriteAsync}). */
    public void write(CuFileHandle handle, IoMemory memory, Cells cells) {
        submit("cuFileWriteAsync", handle, memory, cells, true);
    }

    private void submit(String function, CuFileHandle handle, IoMemory memory, Cells cells, boolean write) {
        if (handle.driver().session() != driver.session()) {
            throw CuFileException.of(
                    CuFileError.HANDLE_NOT_REGISTERED, function, "the handle belongs to another driver session");
        }
        MemoryRange range = memory.range();
        if (!resource.enter()) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, function, "the stream is deregistered");
        }
        try {
            StreamRequest request = new StreamRequest(
                    handle.file(),
                    range,
                    cells.size(),
                    cells.fileOffset(),
                    cells.bufferOffset(),
                    cells.bytesDone(),
                    stream);
            if (write) {
                driver.session().backend().writeAsync(request);
            } else {
                driver.session().backend().readAsync(request);
            }
        } finally {
            resource.exit();
        }
    }

    /** Deregisters the stream ({@code cuFileStreamDeregister}). Idempotent. */
    @Override
    public void close() {
        resource.close();
    }

    /**
     * The four 8-byte cells of a stream operation, native and alive until the stream has passed it.
     *
     * @param size bytes to move
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param bytesDone receives the count, or a negative error
     */
    public record Cells(
            MemorySegment size, MemorySegment fileOffset, MemorySegment bufferOffset, MemorySegment bytesDone) {
        public Cells {
            check("size", size);
            check("fileOffset", fileOffset);
            check("bufferOffset", bufferOffset);
            check("bytesDone", bytesDone);
        }

        private static void check(String name, MemorySegment cell) {
            if (!cell.isNative() || cell.byteSize() < CELL_BYTES) {
                throw CuFileDriver.invalid("cuFileReadAsync", name + " is not a native cell of 8 bytes");
            }
        }
    }
}
