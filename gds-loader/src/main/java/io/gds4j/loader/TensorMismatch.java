package io.gds4j.loader;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.TensorInfo;
import org.jspecify.annotations.Nullable;

/**
 * A tensor whose bytes in memory differ from its file.
 *
 * @since 0.1
 */
public final class TensorMismatch {
    private final Parts parts;

    TensorMismatch(TensorInfo tensor, long offset, int expected, int actual) {
        parts = new Parts(tensor, offset, expected, actual);
    }

    /** {@return the tensor} */
    public TensorInfo tensor() {
        return parts.tensor;
    }

    /** {@return offset of the first differing byte within the tensor} */
    public long offset() {
        return parts.offset;
    }

    /** {@return the byte in the file, 0 to 255, or -1 if the file ends before it} */
    public int expected() {
        return parts.expected;
    }

    /** {@return the byte in memory, 0 to 255} */
    public int actual() {
        return parts.actual;
    }

    @Override
    public String toString() {
        return parts.expected < 0
                ? "tensor %s: the file ends before byte %s of it"
                        .formatted(CheckpointException.quote(parts.tensor.name()), parts.offset)
                : "tensor %s differs at byte %s: 0x%02x in the file, 0x%02x in memory"
                        .formatted(CheckpointException.quote(parts.tensor.name()), parts.offset, parts.expected,
                                parts.actual);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof TensorMismatch that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    private record Parts(TensorInfo tensor, long offset, int expected, int actual) {}
}
