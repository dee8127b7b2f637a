package io.gds4j.loader;

/**
 * Receives the events of a load; the rules of {@link ProgressListener} apply.
 *
 * @since 0.1
 */
public interface LoadListener extends ProgressListener {
    /** A listener that ignores all events. */
    LoadListener NONE = new LoadListener() {
    };

    /** Called once, after files are open and memory is allocated, before the first byte is read. */
    default void started(LoadPlan plan) {
    }
}
