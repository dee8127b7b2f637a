package io.gds4j.loader.format;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A tensor as a checkpoint's header describes it.
 *
 * @param name name in the checkpoint
 * @param dtype element type
 * @param shape dimensions, slowest first; empty for a scalar. Unsigned: in a tensor without elements a dimension may exceed
 *        2^63-1
 * @param file file that contains the tensor
 * @param fileOffset offset of its first byte in the file
 * @param length length in bytes; 0 for a tensor without elements
 * @since 0.1
 */
public record TensorInfo(String name, DType dtype, List<Long> shape, Path file, long fileOffset, long length) {
    public TensorInfo {
        shape = List.copyOf(shape);
    }

    /** Returns the offset after the last byte in the file. */
    public long fileEnd() {
        return fileOffset + length;
    }

    @Override
    public String toString() {
        return "%s %s%s, %s bytes at %s of %s"
                .formatted(
                        CheckpointException.quote(name),
                        dtype,
                        shape.stream()
                                .map(Long::toUnsignedString)
                                .collect(Collectors.joining(", ", "[", "]")),
                        length,
                        fileOffset,
                        file);
    }
}
