package io.gds4j.loader;

import java.nio.file.Path;

/**
 * Follows a load. Called on the loader's threads, one call at a time; a slow listener slows the load down, an exception ends
 * it. Must not close the tensors' driver or wait for the load.
 *
 * @since 0.1
 */
public interface LoadListener {
    /** Listens to nothing. */
    LoadListener NONE = new LoadListener() {
    };

    /** Headers, files and memory are ready; data comes now. */
    default void started(LoadPlan plan) {
    }

    /**
     * A request is done.
     *
     * @param bytesDone tensor bytes in place so far
     * @param bytesTotal tensor bytes of the plan
     * @param file the file of this request
     */
    default void progress(long bytesDone, long bytesTotal, Path file) {
    }

    /** All bytes of this tensor are in place. Tensors without bytes are not announced. */
    default void tensorPlaced(TensorInfo tensor) {
    }
}
