package io.gds4j.spi;

import io.gds4j.statistics.IoPath;

/**
 * Hears which bytes of a request took which path, and of an operation of a stream what it asked for and how it ended. Thread-safe: several
 * threads may serve one request.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface ResultSink {
    /** Ignores everything. A request without a report has it. */
    ResultSink NONE = new ResultSink() { // linking a lambda would take a program's first request a millisecond
        @Override
        public void moved(IoPath path, long fileOffset, long bytes) {
            // the request has no report
        }
    };

    /**
     * Counts bytes that were moved. Bytes that are moved again count again, and so do those behind a failure.
     *
     * @param path their path
     * @param fileOffset the first of them in the file
     * @param bytes 1 or more
     */
    void moved(IoPath path, long fileOffset, long bytes);

    /**
     * A stream has reached an operation ({@link StreamArguments#bind} calls it), or a backend begins anew with a request that has failed as
     * a part of a group. Bytes that were heard of before do not count.
     *
     * @param fileOffset first byte in the file, as its cell says
     * @param size bytes, as their cell says
     */
    default void begin(long fileOffset, long size) {
        // for a sink whose requests begin once
    }

    /**
     * An operation of a stream is over. {@link StreamArguments#settle} calls it, again with an error if the stream fails behind the
     * result. Must not throw.
     *
     * @param result bytes moved, or a negative errno or a negative cuFile code
     */
    default void end(long result) {
        // Other requests return their result.
    }
}
