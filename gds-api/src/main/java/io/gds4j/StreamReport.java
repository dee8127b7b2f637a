package io.gds4j;

import io.gds4j.error.CuFileException;
import io.gds4j.spi.ResultSink;
import io.gds4j.statistics.IoPath;
import java.util.function.Supplier;

/**
 * Fills the report of an operation of a stream, on the threads that serve it. The stream passes whatever happens here: nothing is allocated
 * when the operation ends.
 */
final class StreamReport implements ResultSink, Supplier<CuFileException> {
    private final IoResult result;
    private final RequestCheck request;

    /** As the cells say at submission, until the stream reaches the operation. */
    private long fileOffset;
    private long size;
    private long code;

    /** Whether the operation is over, or its submission has thrown: the stream may pass an operation of which CUDA took a part only. */
    private volatile boolean ended;

    /** The number that the report gave this operation; 0 before the end, and once no later end counts. */
    private int number;

    StreamReport(IoResult result, RequestCheck request) {
        this.result = result;
        this.request = request;
        this.fileOffset = request.fileOffset();
        this.size = request.size();
    }

    @Override
    public void moved(IoPath by, long offset, long bytes) {
        if (!ended) {
            result.sink().moved(by, offset, bytes);
        }
    }

    @Override
    public void begin(long offset, long bytes) {
        fileOffset = offset;
        size = bytes;
        result.asked(bytes);
    }

    /** A failure after the end counts, too: the stream has failed behind the result. */
    @Override
    public synchronized void end(long outcome) {
        if (ended && (outcome >= 0 || !result.takeAgain(number))) {
            return;
        }
        number = result.request();
        ended = true;
        code = outcome;
        if (outcome < 0) {
            result.failLater(0, this);
        } else {
            result.end(outcome);
        }
        result.over();
    }

    /**
     * Ends the report of an operation whose submission has failed. The stream may have passed it: CUDA then refused a call that follows the
     * operation's own.
     */
    synchronized void refuse(Throwable thrown) {
        boolean isOurs = !ended || result.takeAgain(number);
        number = 0;
        ended = true;
        if (isOurs) {
            result.fail(request, thrown);
            result.over();
        }
    }

    /** Returns the failure that the result stands for. */
    @Override
    public CuFileException get() {
        return Failures
                .ofResult(CuFileException.builder(request.function()).path(request.path()).range(fileOffset, size),
                        code)
                .detail("an operation of a stream failed").build();
    }
}
