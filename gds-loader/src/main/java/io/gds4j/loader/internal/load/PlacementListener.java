package io.gds4j.loader.internal.load;

import io.gds4j.loader.format.TensorInfo;
import java.nio.file.Path;

/** Receives what is in place, one call at a time. */
public interface PlacementListener {
    /** Called after each request, with the file of the request and the time since the load began. */
    void moved(long bytes, long totalBytes, Path file, long nanos);

    /** Called when all bytes of a tensor are in place. */
    void placed(TensorInfo tensor);
}
