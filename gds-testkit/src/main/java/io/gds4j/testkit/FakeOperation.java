package io.gds4j.testkit;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.spi.StreamArguments;
import io.gds4j.spi.StreamRequest;
import java.util.function.ToLongFunction;

/**
 * A read or write in the order of a stream. Arguments that the program promised to be fixed are read at submission, the others when
 * the stream reaches the operation.
 */
final class FakeOperation implements Runnable {
    private final Object session;
    private final StreamRequest request;
    private final StreamArguments arguments;
    private final ToLongFunction<BatchRequest> mover;
    private final FakeMisuse misuse;
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
            Operation operation,
            int flags,
            ToLongFunction<BatchRequest> mover,
            FakeMisuse misuse) {
        this.session = session;
        this.request = request;
        this.arguments = new StreamArguments(request, operation, flags);
        this.mover = mover;
        this.misuse = misuse;
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
        for (MemoryRange memory : request.memories()) {
            if (memory.address() < address + length && address < memory.address() + memory.length()) {
                return true;
            }
        }
        return false;
    }

    /** Moves the bytes and sets the result cell. */
    @Override
    public void run() {
        long result = result();
        try {
            arguments.settle(result);
        } catch (IllegalStateException e) {
            freedCell(e);
        }
    }

    private long result() {
        try {
            return mover.applyAsLong(arguments.bind());
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

    @Override
    public String toString() {
        return "%s of %s".formatted(arguments.operation().isWrite() ? "write" : "read", request.file());
    }
}
