package io.gds4j.compat.batch;

import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import java.util.List;

/** Runs entries of batches on one thread. */
public interface EntryRunner extends AutoCloseable {
    /** The result of an entry that could not be done together with others. */
    long UNDONE = Long.MIN_VALUE;

    /**
     * Runs entries.
     *
     * @param submitted when the entries were submitted, by the clock of {@link System#nanoTime}
     * @param events how each ended, added in the order of the entries
     */
    void run(List<BatchRequest> entries, long submitted, List<BatchEvent> events);

    /** Frees what the thread owns. */
    @Override
    void close();
}
