package io.gds4j.loader.format;

import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The files of a checkpoint.
 *
 * @since 0.1
 */
public final class CheckpointParts {
    private final List<Path> files;
    private final Optional<ShardIndex> index;

    /**
     * Sets the parts.
     *
     * @param files as {@link #files}
     * @param index as {@link #index}
     */
    public CheckpointParts(List<Path> files, Optional<ShardIndex> index) {
        this.files = List.copyOf(files);
        this.index = index;
    }

    /** {@return paths in the order in which the files are loaded} */
    public List<Path> files() {
        return files;
    }

    /** {@return index that names the files; the loader checks that files and index agree} */
    public Optional<ShardIndex> index() {
        return index;
    }

    /** Returns files without an index. */
    public static CheckpointParts of(List<Path> files) {
        return new CheckpointParts(files, Optional.empty());
    }

    /**
     * Returns the files that an index names.
     *
     * @throws CheckpointException MISSING_SHARD
     */
    public static CheckpointParts of(ShardIndex index) {
        return new CheckpointParts(index.files(), Optional.of(index));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof CheckpointParts that && files.equals(that.files) && index.equals(that.index);
    }

    @Override
    public int hashCode() {
        return Objects.hash(files, index);
    }

    @Override
    public String toString() {
        return "CheckpointParts[files=" + files.size() + ", index=" + index + ']';
    }
}
