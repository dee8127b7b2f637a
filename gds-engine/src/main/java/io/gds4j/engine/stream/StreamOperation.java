package io.gds4j.engine.stream;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.spi.StreamArguments;
import io.gds4j.spi.StreamRequest;
import java.util.List;

/**
 * One {@code cuFileReadAsync} or {@code cuFileWriteAsync}. Arguments that the program promised to be fixed are read at submission, the
 * others when the stream reaches the operation. Holds its file and its memory until it ends.
 */
final class StreamOperation {
    private final StreamRequest request;
    private final StreamArguments arguments;
    private final StreamTransfer transfer;
    private final List<MemoryRange> memories;
    private long result;
    private boolean queued;

    StreamOperation(StreamRequest request, Operation operation, int flags, StreamTransfer transfer) {
        this.request = request;
        this.arguments = new StreamArguments(request, operation, flags);
        this.transfer = transfer;
        this.memories = request.memories();
        transfer.begin();
        int retained = 0;
        try {
            for (; retained < memories.size(); retained++) {
                memories.get(retained).retain();
            }
        } finally {
            if (retained < memories.size()) {
                memories.subList(0, retained).forEach(MemoryRange::release);
                transfer.end();
            }
        }
    }

    /** Moves the bytes and sets the result cell. Never throws. */
    void run(StreamMover mover) {
        long moved;
        try {
            moved = mover.move(bindStaged());
        } catch (RuntimeException | Error e) {
            moved = code(failure(e));
        }
        finish(moved);
    }

    /** Ends the operation without moving bytes: the stream itself has failed. */
    void fail(RuntimeException cause) {
        finish(code(cause));
    }

    /** Releases file and memory: the operation is over or was never queued. */
    void end() {
        memories.forEach(MemoryRange::release);
        transfer.end();
    }

    private void finish(long bytesOrCode) {
        try {
            settle(bytesOrCode);
        } finally {
            end();
        }
    }

    /** Sets the result cell. */
    void settle(long bytesOrCode) {
        result = bytesOrCode;
        try {
            arguments.settle(result);
        } catch (RuntimeException e) {
            transfer.log("the result cell of a stream operation is gone", e);
        }
    }

    /** Corrects the result, which was set before the stream itself had copied the bytes. An error of the operation stays. */
    void failBehindResult(RuntimeException cause) {
        transfer.log("a copy of a stream failed", cause);
        if (result >= 0) {
            settle(code(cause));
        }
    }

    /** Returns the most bytes to move. A size past the memory is refused once it is bound. */
    long largest() {
        return isScattered() ? arguments.largest() : Math.min(arguments.largest(), request.memory().length());
    }

    /** Returns true if no work of the program can change the arguments any more. */
    boolean hasFixedArguments() {
        return arguments.areFixed();
    }

    /** The serving thread will end it from now on. */
    void setQueued() {
        queued = true;
    }

    boolean isQueued() {
        return queued;
    }

    boolean isWrite() {
        return arguments.operation().isWrite();
    }

    /** Returns the name of the C function, for messages. */
    String function() {
        return arguments.operation().function();
    }

    MemoryRange memory() {
        return request.memory();
    }

    /** Returns the memory of all fragments, or the only one. */
    List<MemoryRange> memories() {
        return memories;
    }

    boolean isScattered() {
        return !request.copies().isEmpty();
    }

    /** Returns true if the backend moves bytes between slabs and the file, and the stream copies between slabs and memory. */
    boolean isStaged() {
        return memories.stream().allMatch(this::isStaged);
    }

    /** Returns true for memory of CUDA contexts that is reached through slabs. */
    boolean isStaged(MemoryRange memory) {
        return transfer.isStaged(memory);
    }

    /** Returns the request with all late-bound arguments, checked. */
    BatchRequest bindStaged() {
        BatchRequest bound = arguments.bind();
        transfer.check(bound);
        return bound;
    }

    /** Returns the failure of an operation of which CUDA accepted only a part. */
    CuFileException brokenOff() {
        return CuFileException.of(
                CuFileError.CUDA_DRIVER_ERROR,
                function(),
                "CUDA took a part of the operation only");
    }

    /** Returns what an operation fails with that met this. */
    static RuntimeException failure(Throwable thrown) {
        return thrown instanceof RuntimeException known ? known : new IllegalStateException(thrown);
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
