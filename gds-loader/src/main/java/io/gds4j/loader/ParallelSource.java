package io.gds4j.loader;

import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import java.nio.file.Path;
import java.util.List;

/**
 * What ranks share: a checkpoint and the options of the plan that chose from it.
 *
 * @param checkpoint the checkpoint
 * @param options options of the plan
 */
record ParallelSource(Checkpoint checkpoint, LoadOptions options) {
    Path path() {
        return checkpoint.path();
    }

    List<CheckpointFile> files() {
        return checkpoint.files();
    }

    /** Returns all tensors of the checkpoint. */
    List<TensorInfo> tensors() {
        return List.copyOf(checkpoint.tensors().values());
    }

    /** Returns the time to read the headers in nanoseconds. */
    long headerNanos() {
        return checkpoint.headerNanos();
    }
}
