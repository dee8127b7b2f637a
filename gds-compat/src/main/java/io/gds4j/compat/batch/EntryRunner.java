package io.gds4j.compat.batch;

import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import java.util.List;

/** Runs entries of batches on one thread. */
public interface EntryRunner extends AutoCloseable {
    /** The result of an entry that was not served in a group. */
    long UNDONE = Long.MIN_VALUE;

    /**
     * Runs entries.
     *
     * @param submitted time of the submission, from {@link System#nanoTime}
     * @param events receives the event of each entry in their order
     */
    void run(List<BatchRequest> entries, long submitted, List<BatchEvent> events);

    /** Frees the thread's resources. */
    @Override
    void close();
}
