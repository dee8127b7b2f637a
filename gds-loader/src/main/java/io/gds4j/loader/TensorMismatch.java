package io.gds4j.loader;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.TensorInfo;

/**
 * A tensor whose bytes in memory differ from its file.
 *
 * @param tensor the tensor
 * @param offset offset of the first differing byte within the tensor
 * @param expected the byte in the file, 0 to 255, or -1 if the file ends before it
 * @param actual the byte in memory, 0 to 255, or -1 if the file ends before it: of a map, that byte is gone, too
 * @since 0.1
 */
public record TensorMismatch(TensorInfo tensor, long offset, int expected, int actual) {
    @Override
    public String toString() {
        return expected < 0
                ? "tensor %s: the file ends before byte %s of it"
                        .formatted(CheckpointException.quote(tensor.name()), offset)
                : "tensor %s differs at byte %s: 0x%02x in the file, 0x%02x in memory"
                        .formatted(CheckpointException.quote(tensor.name()), offset, expected,
                                actual);
    }
}
