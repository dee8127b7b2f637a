package io.gds4j.loader;

import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A file of a checkpoint, as its header describes it.
 *
 * @param path path of the file
 * @param size size in bytes when the header was read
 * @param dataOffset offset of the first byte of tensor data
 * @param tensors the tensors in the order of their data
 * @param metadata {@code __metadata__}; empty if the file has none
 * @since 0.1
 */
public record CheckpointFile(
        Path path, long size, long dataOffset, List<TensorInfo> tensors, Map<String, String> metadata) {
    public CheckpointFile {
        tensors = List.copyOf(tensors);
        metadata = Collections.unmodifiableMap(new LinkedHashMap<>(metadata));
    }
}
