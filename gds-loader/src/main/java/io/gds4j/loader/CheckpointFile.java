package io.gds4j.loader;

import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One file of a checkpoint, as its header describes it.
 *
 * @param path the file
 * @param size bytes in the file when its header was read
 * @param dataOffset first byte of tensor data
 * @param tensors its tensors, in the order of their data
 * @param metadata its {@code __metadata__}, empty where there is none
 * @since 0.1
 */
public record CheckpointFile(
        Path path, long size, long dataOffset, List<TensorInfo> tensors, Map<String, String> metadata) {
    public CheckpointFile {
        tensors = List.copyOf(tensors);
        metadata = Collections.unmodifiableMap(new LinkedHashMap<>(metadata));
    }
}
