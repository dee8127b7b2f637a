package io.gds4j.loader;

import io.gds4j.loader.format.TensorInfo;
import java.nio.file.Path;

/**
 * Receives the progress of a load. The loader calls it on its own threads, one call at a time, so a slow listener slows the
 * load down. An exception ends the load, which throws it as it is. A listener must not close the driver of the load and must
 * not wait for the load.
 *
 * @since 0.1
 */
public interface ProgressListener {
    /**
     * Called after each request.
     *
     * @param bytesDone tensor bytes in place so far
     * @param bytesTotal tensor bytes of the plan
     * @param file the file of this request
     */
    default void progress(long bytesDone, long bytesTotal, Path file) {
    }

    /** Called when all bytes of a tensor are in place; never for a tensor without bytes. */
    default void tensorPlaced(TensorInfo tensor) {
    }
}
