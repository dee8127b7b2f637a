package io.gds4j.testkit;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.StreamRequest;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.function.ToLongFunction;

/**
 * A read or write in the order of a stream. Arguments that the program promised to be fixed are read at submission, the others when
 * the stream reaches the operation.
 */
final class FakeOperation implements Runnable {
    static final int ALL_FLAGS = 15;

    private static final int FIXED_BUFFER_OFFSET = 1;
    private static final int FIXED_FILE_OFFSET = 2;
    private static final int FIXED_SIZE = 4;
    private static final int PAGE_ALIGNED = 8;
    private static final long PAGE_MASK = 4095;
    private static final VarHandle CELL = ValueLayout.JAVA_LONG.varHandle();

    private final Object session;
    private final StreamRequest request;
    private final boolean write;
    private final int flags;
    private final ToLongFunction<BatchRequest> mover;
    private final FakeMisuse misuse;
    private final long largest;
    private final long fixedFileOffset;
    private final long fixedBufferOffset;
    private final CallSite place = new CallSite();

    /**
     * Reads the cells.
     *
     * @param session the backend that queues it, by identity
     * @param mover moves the bytes of a request
     */
    FakeOperation(
            Object session,
            StreamRequest request,
            boolean write,
            int flags,
            ToLongFunction<BatchRequest> mover,
            FakeMisuse misuse) {
        this.session = session;
        this.request = request;
        this.write = write;
        this.flags = flags;
        this.mover = mover;
        this.misuse = misuse;
        this.largest = get(request.size());
        this.fixedFileOffset = get(request.fileOffset());
        this.fixedBufferOffset = get(request.bufferOffset());
    }

    private static long get(MemorySegment cell) {
        return (long) CELL.getAcquire(cell, 0L);
    }

    boolean isOf(Object backend) {
        return session == backend;
    }

    boolean isOn(long stream) {
        return request.stream() == stream;
    }

    boolean uses(BackendFile file) {
        return request.file() == file;
    }

    boolean touches(long address, long length) {
        MemoryRange memory = request.memory();
        return memory.address() < address + length && address < memory.address() + memory.length();
    }

    /** Moves the bytes and sets the result cell. */
    @Override
    public void run() {
        long result = result();
        try {
            CELL.setRelease(request.bytesDone(), 0L, result);
        } catch (IllegalStateException e) {
            freedCell(e);
        }
    }

    private long result() {
        try {
            return mover.applyAsLong(bind());
        } catch (CuFileException e) {
            return code(e);
        } catch (IllegalStateException e) {
            freedCell(e);
            return -Errno.EFAULT;
        }
    }

    private void freedCell(IllegalStateException e) {
        misuse.add(place.describe("a cell of a stream operation was freed before the stream had passed it (%s); queued"
                .formatted(e.getMessage())));
    }

    /** {@return the result of an operation or batch entry that failed: a negative errno or code} */
    static long code(CuFileException e) {
        int errno = e.errno().orElse(0);
        return e.error() == CuFileError.IO_ERROR && errno != 0 ? -errno : -e.error().code();
    }

    private long bound(int flag, long fixed, MemorySegment cell) {
        return (flags & flag) != 0 ? fixed : get(cell);
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

    private CuFileException invalid(String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, write ? "cuFileWriteAsync" : "cuFileReadAsync", detail);
    }

    @Override
    public String toString() {
        return "%s of %s".formatted(write ? "write" : "read", request.file());
    }
}
