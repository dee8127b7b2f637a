package io.gds4j.loader;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.TensorInfo;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A tensor whose bytes in memory differ from its file.
 *
 * @since 0.1
 */
public final class TensorMismatch {
    private final TensorInfo tensor;
    private final long offset;
    private final int expected;
    private final int actual;

    TensorMismatch(TensorInfo tensor, long offset, int expected, int actual) {
        this.tensor = tensor;
        this.offset = offset;
        this.expected = expected;
        this.actual = actual;
    }

    /** {@return the tensor} */
    public TensorInfo tensor() {
        return tensor;
    }

    /** {@return offset of the first differing byte within the tensor} */
    public long offset() {
        return offset;
    }

    /** {@return the byte in the file, 0 to 255, or -1 if the file ends before it} */
    public int expected() {
        return expected;
    }

    /** {@return the byte in memory, 0 to 255} */
    public int actual() {
        return actual;
    }

    @Override
    public String toString() {
        return expected < 0
                ? "tensor %s: the file ends before byte %s of it"
                        .formatted(CheckpointException.quote(tensor.name()), offset)
                : "tensor %s differs at byte %s: 0x%02x in the file, 0x%02x in memory"
                        .formatted(CheckpointException.quote(tensor.name()), offset, expected, actual);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof TensorMismatch that && offset == that.offset && expected == that.expected
                && actual == that.actual && tensor.equals(that.tensor);
    }

    @Override
    public int hashCode() {
        return Objects.hash(tensor, offset, expected, actual);
    }
}
