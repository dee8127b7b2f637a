package io.gds4j.spark;

import java.util.ArrayList;
import java.util.List;

/**
 * Where a rank of a job runs, for the program's code in it. One thread uses it.
 *
 * @since 0.1
 */
public final class RankContext {
    private final GdsExecutor executor;
    private final int rank;
    private final int world;
    private final List<AutoCloseable> resources = new ArrayList<>();

    RankContext(GdsExecutor executor, int rank, int world) {
        this.executor = executor;
        this.rank = rank;
        this.world = world;
    }

    /** {@return what the plugin opened on this executor} */
    public GdsExecutor executor() {
        return executor;
    }

    /** {@return the rank, 0 to {@code world - 1}} */
    public int rank() {
        return rank;
    }

    /** {@return the number of ranks} */
    public int world() {
        return world;
    }

    /**
     * Closes a resource when the rank ends, the last one first.
     *
     * @param <T> type of the resource
     * @return the resource
     */
    public <T extends AutoCloseable> T closing(T resource) {
        resources.add(resource);
        return resource;
    }

    void close() throws Exception {
        try {
            while (!resources.isEmpty()) {
                resources.removeLast().close();
            }
        } finally {
            if (!resources.isEmpty()) {
                close();
            }
        }
    }

    @Override
    public String toString() {
        return "rank %s of %s on %s".formatted(rank, world, executor);
    }
}
