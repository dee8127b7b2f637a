package io.gds4j.spi;

import io.gds4j.statistics.IoPath;

/**
 * Hears which bytes of a request took which path. Thread-safe: several threads may serve one request.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface ResultSink {
    /** Ignores everything. A request without a report has it. */
    ResultSink NONE = (path, fileOffset, bytes) -> {
    };

    /**
     * Counts bytes that were moved. Bytes that are moved again count again, and so do those behind a failure.
     *
     * @param path their path
     * @param fileOffset the first of them in the file
     * @param bytes 1 or more
     */
    void moved(IoPath path, long fileOffset, long bytes);
}
