package io.gds4j.loader.format;

import io.gds4j.source.FileVersion;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;

/** The parts of a {@link CheckpointFile}. */
record CheckpointFileParts(Path path, FileVersion version, long dataOffset, List<TensorInfo> tensors,
        Metadata typedMetadata, List<String> warnings) implements CheckpointFile {

    /** Not Comparator.comparingLong: a class archive lacks its lambda, which costs 2 ms of a first load. */
    private static final Comparator<TensorInfo> BY_OFFSET = (a, b) -> Long.compare(a.fileOffset(), b.fileOffset());

    CheckpointFileParts {
        Objects.requireNonNull(path, "path");
        Objects.requireNonNull(version, "version");
        Objects.requireNonNull(typedMetadata, "typedMetadata");
        tensors = sorted(tensors);
        warnings = List.copyOf(warnings);
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

    @Override
    public String toString() {
        return "CheckpointFile[path=" + path + ", version=" + version + ", tensors=" + tensors.size()
                + ", metadata="
                + typedMetadata.keys().size() + ", warnings=" + warnings.size() + ']';
    }
}
