package io.gds4j.loader;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.TensorInfo;
import java.nio.file.FileVisitOption;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;

/**
 * What ranks share: a checkpoint and the options of the plan that chose from it.
 *
 * @param path path of the checkpoint
 * @param links how the path was opened
 * @param files its files
 * @param tensors all of its tensors
 * @param metadata its metadata
 * @param options options of the plan
 * @param headerNanos time to read the headers in nanoseconds
 * @param again returns what is there after a save replaced the files; throws the exception that it gets if that does not fit
 */
record ParallelSource(
        Path path,
        List<FileVisitOption> links,
        List<CheckpointFile> files,
        List<TensorInfo> tensors,
        Metadata metadata,
        LoadOptions options,
        long headerNanos,
        Function<CheckpointException, ParallelSource> again) {
}
