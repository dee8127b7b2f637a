package io.gds4j.tools.terminal;

/** Progress of one task in bytes. Thread-safe. */
public interface Progress extends AutoCloseable {
    /** Sets the total number of bytes done so far. */
    void advanceTo(long bytes);

    /** Sets the total number of bytes done so far; the bytes since the last call are of this file. */
    default void advanceTo(long bytes, String file) {
        advanceTo(bytes);
    }

    /** Ends the progress display. Idempotent. */
    @Override
    void close();
}
