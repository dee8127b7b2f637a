package io.gds4j.loader;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Closing;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Owns the tensors of several ranks. {@link #close} frees all of them except those that were taken. Thread-safe.
 *
 * @since 0.1
 */
public final class ParallelTensors implements AutoCloseable {
    private final TreeMap<Integer, LoadedTensors> ranks;
    private final ParallelReport report;

    ParallelTensors(SortedMap<Integer, LoadedTensors> ranks, ParallelReport report) {
        this.ranks = new TreeMap<>(ranks);
        this.report = report;
    }

    /** Returns the loaded ranks in ascending order. */
    public List<Integer> ranks() {
        return List.copyOf(ranks.keySet());
    }

    /**
     * Returns the tensors of a rank. Their shapes and lengths are those of the rank's slices.
     *
     * @throws CuFileException INVALID_VALUE for a rank that was not loaded
     */
    public LoadedTensors rank(int rank) {
        LoadedTensors tensors = ranks.get(rank);
        if (tensors == null) {
            throw CuFileException.invalid("ParallelTensors",
                    "rank %s was not loaded; the loaded ranks are %s to %s"
                            .formatted(rank, ranks.firstKey(), ranks.lastKey()));
        }
        return tensors;
    }

    /** Returns what the load did. */
    public ParallelReport report() {
        return report;
    }

    /**
     * Frees the tensors of all ranks. Idempotent.
     *
     * @throws CuFileException as {@link LoadedTensors#close}; the other ranks are freed then
     */
    @Override
    public void close() {
        Closing.all(ranks.values(), LoadedTensors::close);
    }

    @Override
    public String toString() {
        return "ParallelTensors" + ranks;
    }
}
