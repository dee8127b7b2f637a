package io.gds4j.loader.format;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The files of a checkpoint.
 *
 * @param files paths in the order in which the files are loaded
 * @param index index that names the files; the loader checks that files and index agree
 * @since 0.1
 */
public record CheckpointParts(List<Path> files, Optional<ShardIndex> index) {
    /** Copies the list. */
    public CheckpointParts {
        files = List.copyOf(files);
    }

    /** Returns files without an index. */
    public static CheckpointParts of(List<Path> files) {
        return new CheckpointParts(files, Optional.empty());
    }

    /**
     * Returns the files that an index names. Whether they exist shows when their headers are read.
     */
    public static CheckpointParts of(ShardIndex index) {
        return new CheckpointParts(index.named(), Optional.of(index));
    }

    @Override
    public String toString() {
        return "CheckpointParts[files=" + files.size() + ", index=" + index + ']';
    }
}
