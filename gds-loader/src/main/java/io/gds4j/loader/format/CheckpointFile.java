package io.gds4j.loader.format;

import io.gds4j.source.FileVersion;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A file of a checkpoint, as its header describes it. Tensors may share bytes of the file, as tied weights do.
 *
 * @since 0.1
 */
public final class CheckpointFile {
    /** Not Comparator.comparingLong: a class archive lacks its lambda, which costs 2 ms of a first load. */
    private static final Comparator<TensorInfo> BY_OFFSET = (a, b) -> Long.compare(a.fileOffset(), b.fileOffset());

    private final Parts parts;

    /**
     * Sets the parts.
     *
     * @param path as {@link #path}
     * @param version as {@link #version}
     * @param dataOffset as {@link #dataOffset}
     * @param tensors as {@link #tensors}
     * @param typedMetadata as {@link #typedMetadata}
     * @param warnings as {@link #warnings}
     */
    public CheckpointFile(
            Path path,
            FileVersion version,
            long dataOffset,
            List<TensorInfo> tensors,
            Metadata typedMetadata,
            List<String> warnings) {
        Objects.requireNonNull(path, "path");
        Objects.requireNonNull(version, "version");
        Objects.requireNonNull(typedMetadata, "typedMetadata");
        parts = new Parts(path, version, dataOffset, sorted(tensors), typedMetadata, List.copyOf(warnings));
    }

    /** {@return path of the file} */
    public Path path() {
        return parts.path;
    }

    /** {@return version of the content that the header describes} */
    public FileVersion version() {
        return parts.version;
    }

    /** {@return offset of the first byte of tensor data} */
    public long dataOffset() {
        return parts.dataOffset;
    }

    /** {@return the tensors in the order of their data; the constructor sorts them} */
    public List<TensorInfo> tensors() {
        return parts.tensors;
    }

    /** {@return metadata with types; empty if the file has none} */
    public Metadata typedMetadata() {
        return parts.typedMetadata;
    }

    /** {@return what the file holds and its format leaves out, one line each; without the file's name} */
    public List<String> warnings() {
        return parts.warnings;
    }

    /** Creates a file without warnings. */
    public CheckpointFile(
            Path path, FileVersion version, long dataOffset, List<TensorInfo> tensors, Metadata typedMetadata) {
        this(path, version, dataOffset, tensors, typedMetadata, List.of());
    }

    /**
     * Creates a file of which only the size is known. The loader adds the version of the input that a format has read.
     *
     * @param size size in bytes when the header was read
     */
    public CheckpointFile(
            Path path,
            long size,
            long dataOffset,
            List<TensorInfo> tensors,
            Metadata typedMetadata,
            List<String> warnings) {
        this(path, FileVersion.ofSize(size), dataOffset, tensors, typedMetadata, warnings);
    }

    /** Creates a file of which only the size is known, without warnings. */
    public CheckpointFile(Path path, long size, long dataOffset, List<TensorInfo> tensors, Metadata typedMetadata) {
        this(path, size, dataOffset, tensors, typedMetadata, List.of());
    }

    /** Creates a file whose metadata is text. */
    public CheckpointFile(
            Path path, long size, long dataOffset, List<TensorInfo> tensors, Map<String, String> metadata) {
        this(path, size, dataOffset, tensors, Metadata.ofStrings(metadata));
    }

    /** Returns this file with other tensors and metadata; an index names some tensors of a file. */
    public CheckpointFile with(List<TensorInfo> chosen, Metadata metadata) {
        return new CheckpointFile(parts.path, parts.version, parts.dataOffset, chosen, metadata, parts.warnings);
    }

    private static List<TensorInfo> sorted(List<TensorInfo> tensors) {
        for (int i = 1; i < tensors.size(); i++) {
            if (tensors.get(i - 1).fileOffset() > tensors.get(i).fileOffset()) {
                List<TensorInfo> sorted = new ArrayList<>(tensors);
                sorted.sort(BY_OFFSET);
                return List.copyOf(sorted);
            }
        }
        return List.copyOf(tensors);
    }

    /** Returns the size in bytes when the header was read. */
    public long size() {
        return parts.version.size();
    }

    /** Returns the same file with another version, unless it has more than a size already. */
    public CheckpointFile withVersion(FileVersion known) {
        return parts.version.content().isEmpty() && parts.version.isSameAs(known)
                ? new CheckpointFile(parts.path, known, parts.dataOffset, parts.tensors, parts.typedMetadata,
                        parts.warnings)
                : this;
    }

    /** Returns the metadata that is text: all of {@code __metadata__} of safetensors that a conversion gave no other type. */
    public Map<String, String> metadata() {
        return parts.typedMetadata.strings();
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof CheckpointFile that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return "CheckpointFile[path=" + parts.path + ", version=" + parts.version + ", tensors=" + parts.tensors.size()
                + ", metadata="
                + parts.typedMetadata.keys().size() + ", warnings=" + parts.warnings.size() + ']';
    }

    private record Parts(Path path, FileVersion version, long dataOffset, List<TensorInfo> tensors,
            Metadata typedMetadata, List<String> warnings) {}
}
