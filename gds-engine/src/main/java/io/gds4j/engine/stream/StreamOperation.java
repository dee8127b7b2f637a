package io.gds4j.engine.stream;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.StreamRequest;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * One {@code cuFileReadAsync} or {@code cuFileWriteAsync}. Arguments that the program promised to be fixed are read at submission, the
 * others when the stream reaches the operation. Holds its file and its memory until it ends.
 */
final class StreamOperation {
    static final int FIXED_BUFFER_OFFSET = 1;
    static final int FIXED_FILE_OFFSET = 2;
    static final int FIXED_SIZE = 4;
    static final int PAGE_ALIGNED = 8;
    static final int ALL_FLAGS = 15;

    private static final VarHandle CELL = ValueLayout.JAVA_LONG.varHandle();
    private static final long PAGE_MASK = 4095;

    private final StreamRequest request;
    private final boolean write;
    private final int flags;
    private final StreamTransfer transfer;
    private final long largest;
    private final long fixedFileOffset;
    private final long fixedBufferOffset;
    private boolean queued;

    StreamOperation(StreamRequest request, boolean write, int flags, StreamTransfer transfer) {
        this.request = request;
        this.write = write;
        this.flags = flags;
        this.transfer = transfer;
        this.largest = get(request.size());
        this.fixedFileOffset = get(request.fileOffset());
        this.fixedBufferOffset = get(request.bufferOffset());
        transfer.begin();
        try {
            request.memory().retain();
        } catch (RuntimeException e) {
            transfer.end();
            throw e;
        }
    }

    private static long get(MemorySegment cell) {
        return (long) CELL.getAcquire(cell, 0L);
    }

    private long bound(int flag, long fixed, MemorySegment cell) {
        return (flags & flag) != 0 ? fixed : get(cell);
    }

    /** Moves the bytes and sets the result cell. Never throws. */
    void run(StreamMover mover) {
        long result;
        try {
            result = mover.move(bind());
        } catch (RuntimeException e) {
            result = code(e);
        }
        finish(result);
    }

    /** Ends the operation without moving bytes: the stream itself has failed. */
    void fail(RuntimeException cause) {
        finish(code(cause));
    }

    /** Releases file and memory: the operation is over or was never queued. */
    void end() {
        request.memory().release();
        transfer.end();
    }

    private void finish(long result) {
        try {
            settle(result);
        } finally {
            end();
        }
    }

    /** Sets the result cell. */
    void settle(long result) {
        try {
            CELL.setRelease(request.bytesDone(), 0L, result);
        } catch (RuntimeException e) {
            transfer.log("the result cell of a stream operation is gone", e);
        }
    }

    /** Returns the most bytes to move. A size past the memory is refused once it is bound. */
    long largest() {
        return Math.min(largest, request.memory().length());
    }

    /** The serving thread will end it from now on. */
    void setQueued() {
        queued = true;
    }

    boolean isQueued() {
        return queued;
    }

    boolean isWrite() {
        return write;
    }

    MemoryRange memory() {
        return request.memory();
    }

    /** Returns true if the backend moves bytes between slabs and the file, and the stream copies between slabs and memory. */
    boolean isStaged() {
        return transfer.isStaged(request.memory());
    }

    /** Returns the request with all late-bound arguments, checked. */
    BatchRequest bindStaged() {
        BatchRequest bound = bind();
        transfer.check(bound);
        return bound;
    }

    void log(String message, RuntimeException failure) {
        transfer.log(message, failure);
    }

    /** Returns the failure of an operation of which CUDA accepted only a part. */
    CuFileException brokenOff() {
        return CuFileException.of(
                CuFileError.CUDA_DRIVER_ERROR,
                write ? "cuFileWriteAsync" : "cuFileReadAsync",
                "CUDA took a part of the operation only");
    }

    private BatchRequest bind() {
        long size = bound(FIXED_SIZE, largest, request.size());
        long fileOffset = bound(FIXED_FILE_OFFSET, fixedFileOffset, request.fileOffset());
        long bufferOffset = bound(FIXED_BUFFER_OFFSET, fixedBufferOffset, request.bufferOffset());
        if (size > largest) {
            throw invalid("size %d is larger than %d at submission".formatted(size, largest));
        }
        long unaligned = size | fileOffset | request.memory().address() + bufferOffset;
        if ((flags & PAGE_ALIGNED) != 0 && (unaligned & PAGE_MASK) != 0) {
            throw invalid("the stream is registered for page-aligned requests");
        }
        return new BatchRequest(request.file(), write, request.memory(), size, fileOffset, bufferOffset, 0);
    }

    private static CuFileException invalid(String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, "cuFileReadAsync", detail);
    }

    /** Returns the value of the result cell for a failure. */
    long code(RuntimeException e) {
        if (e instanceof CuFileException known) {
            int errno = known.errno().orElse(0);
            return known.error() == CuFileError.IO_ERROR && errno != 0 ? -errno : -known.error().code();
        }
        transfer.log("stream operation failed", e);
        return -Errno.EIO;
    }
}
