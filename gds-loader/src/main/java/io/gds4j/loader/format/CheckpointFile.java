package io.gds4j.loader.format;

import io.gds4j.source.FileVersion;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * A file of a checkpoint, as its header describes it. Tensors may share bytes of the file, as tied weights do.
 *
 * @since 0.1
 */
public sealed interface CheckpointFile permits CheckpointFileParts {
    /** {@return path of the file} */
    Path path();

    /** {@return version of the content that the header describes} */
    FileVersion version();

    /** {@return offset of the first byte of tensor data} */
    long dataOffset();

    /** {@return the tensors in the order of their data; {@code of} sorts them} */
    List<TensorInfo> tensors();

    /** {@return metadata with types; empty if the file has none} */
    Metadata typedMetadata();

    /** {@return what the file holds and its format leaves out, one line each; without the file's name} */
    List<String> warnings();

    /**
     * Makes a value.
     *
     * @param path as {@link #path}
     * @param version as {@link #version}
     * @param dataOffset as {@link #dataOffset}
     * @param tensors as {@link #tensors}
     * @param typedMetadata as {@link #typedMetadata}
     * @param warnings as {@link #warnings}
     * @return the value
     */
    static CheckpointFile of(Path path, FileVersion version, long dataOffset, List<TensorInfo> tensors,
            Metadata typedMetadata, List<String> warnings) {
        return new CheckpointFileParts(path, version, dataOffset, tensors, typedMetadata, warnings);
    }

    /** Returns a file without warnings. */
    static CheckpointFile of(Path path, FileVersion version, long dataOffset, List<TensorInfo> tensors,
            Metadata typedMetadata) {
        return of(path, version, dataOffset, tensors, typedMetadata, List.of());
    }

    /**
     * Returns a file of which only the size is known. The loader adds the version of the input that a format has read.
     *
     * @param size size in bytes when the header was read
     * @return the value
     */
    static CheckpointFile of(Path path, long size, long dataOffset, List<TensorInfo> tensors, Metadata typedMetadata,
            List<String> warnings) {
        return of(path, FileVersion.ofSize(size), dataOffset, tensors, typedMetadata, warnings);
    }

    /** Returns a file of which only the size is known, without warnings. */
    static CheckpointFile of(Path path, long size, long dataOffset, List<TensorInfo> tensors, Metadata typedMetadata) {
        return of(path, size, dataOffset, tensors, typedMetadata, List.of());
    }

    /** Returns a file whose metadata is text. */
    static CheckpointFile of(Path path, long size, long dataOffset, List<TensorInfo> tensors,
            Map<String, String> metadata) {
        return of(path, size, dataOffset, tensors, Metadata.ofStrings(metadata));
    }

    /** Returns this file with other tensors and metadata; an index names some tensors of a file. */
    default CheckpointFile with(List<TensorInfo> chosen, Metadata metadata) {
        return of(path(), version(), dataOffset(), chosen, metadata, warnings());
    }

    /** Returns the size in bytes when the header was read. */
    default long size() {
        return version().size();
    }

    /** Returns the same file with another version, unless it has more than a size already. */
    default CheckpointFile withVersion(FileVersion known) {
        return version().content().isEmpty() && version().isSameAs(known)
                ? of(path(), known, dataOffset(), tensors(), typedMetadata(),
                        warnings())
                : this;
    }

    /** Returns the metadata that is text: all of {@code __metadata__} of safetensors that a conversion gave no other type. */
    default Map<String, String> metadata() {
        return typedMetadata().strings();
    }
}
