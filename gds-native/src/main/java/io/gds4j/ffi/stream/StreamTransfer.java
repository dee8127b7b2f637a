package io.gds4j.ffi.stream;

import io.gds4j.spi.BatchRequest;

/**
 * How a backend moves the bytes of one stream operation.
 *
 * @param <L> what its threads work with
 */
public interface StreamTransfer<L> {
    /** The operation begins to use its file, which must stay until {@link #end}. */
    void begin();

    /**
     * Moves bytes.
     *
     * @param request the operation with all that was bound late
     * @return bytes moved
     * @throws io.gds4j.error.CuFileException whose code the program finds in the result cell
     */
    long move(L lane, BatchRequest request);

    /** The operation is over or was never queued. */
    void end();

    /** Tells of a failure that no result can tell. */
    void log(String message, RuntimeException failure);
}
