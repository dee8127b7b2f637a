package io.gds4j.loader;

/**
 * Receives the events of a load; the rules of {@link ProgressListener} apply.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface LoadListener extends ProgressListener {
    /** A listener that ignores all events. */
    LoadListener NONE = progress -> {
    };

    /**
     * Called once, after files are open and memory for the first of them is allocated, before the first byte is read.
     *
     * @param plan the plan of the load; one of a newer checkpoint if a save replaced the shards
     */
    default void started(LoadPlan plan) {
    }
}
