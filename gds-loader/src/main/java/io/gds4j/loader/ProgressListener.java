package io.gds4j.loader;

import io.gds4j.loader.format.TensorInfo;

/**
 * Receives the progress of a load. The loader calls it on its own threads, one call at a time, so a slow listener slows the
 * load down. An exception ends the load, which throws it as it is. A listener must not close the driver of the load and must
 * not wait for the load.
 *
 * <pre>{@code
 * plan.load(driver, progress -> bar.advanceTo(progress.bytesDone()));
 * }</pre>
 *
 * @since 0.1
 */
@FunctionalInterface
public interface ProgressListener {
    /** Called after each request. */
    void progress(LoadProgress progress);

    /** Called when all bytes of a tensor are in place; never for a tensor without bytes. */
    default void tensorPlaced(TensorInfo tensor) {
    }
}
