package io.gds4j;

import io.gds4j.error.CuFileException;
import io.gds4j.spi.ResultSink;
import io.gds4j.statistics.IoPath;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * Fills the report of an operation of a stream, on the threads that serve it. The stream passes whatever happens here: nothing is allocated
 * when the operation ends.
 */
final class StreamReport implements ResultSink, Supplier<CuFileException> {
    private final IoResult result;
    private final String function;
    private final Optional<Path> path;
    private long fileOffset = -1;
    private long size = -1;
    private long code;

    /** Whether the operation is over, or its submission has thrown: the stream may pass an operation of which CUDA took a part only. */
    private final AtomicBoolean ended = new AtomicBoolean();

    StreamReport(IoResult result, String function, Optional<Path> path) {
        this.result = result;
        this.function = function;
        this.path = path;
    }

    @Override
    public void moved(IoPath by, long offset, long bytes) {
        if (!ended.get()) {
            result.sink().moved(by, offset, bytes);
        }
    }

    @Override
    public void begin(long offset, long bytes) {
        fileOffset = offset;
        size = bytes;
        result.asked(bytes);
    }

    @Override
    public void end(long outcome) {
        if (ended.getAndSet(true)) {
            return;
        }
        code = outcome;
        if (outcome < 0) {
            result.failLater(0, this);
        } else {
            result.end(outcome);
        }
        result.over();
    }

    /** Ends the report of an operation whose submission has failed. */
    void refuse(CuFileException e) {
        if (!ended.getAndSet(true)) {
            result.fail(e);
            result.over();
        }
    }

    /** Returns the failure that the result stands for. */
    @Override
    public CuFileException get() {
        return Failures.ofResult(CuFileException.builder(function).path(path).range(fileOffset, size), code)
                .detail("an operation of a stream failed").build();
    }
}
