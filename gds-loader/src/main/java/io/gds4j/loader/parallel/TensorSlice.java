package io.gds4j.loader.parallel;

import io.gds4j.loader.format.TensorInfo;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The part of a tensor that one rank keeps.
 *
 * @since 0.1
 */
public final class TensorSlice {
    private final TensorInfo tensor;
    private final int rank;
    private final List<Long> shape;
    private final long bytes;
    private final List<StridedCopy> copies;

    /**
     * Describes a slice; plans do.
     *
     * @param tensor as {@link #tensor}
     * @param rank as {@link #rank}
     * @param shape as {@link #shape}
     * @param bytes as {@link #bytes}
     * @param copies as {@link #copies}
     */
    public TensorSlice(TensorInfo tensor, int rank, List<Long> shape, long bytes, List<StridedCopy> copies) {
        this.tensor = tensor;
        this.rank = rank;
        this.shape = List.copyOf(shape);
        this.bytes = bytes;
        this.copies = List.copyOf(copies);
    }

    /** {@return the whole tensor} */
    public TensorInfo tensor() {
        return tensor;
    }

    /** {@return the rank, 0 or more} */
    public int rank() {
        return rank;
    }

    /** {@return dimensions of the slice, which lie in the order of the tensor} */
    public List<Long> shape() {
        return shape;
    }

    /** {@return length of the slice in bytes; the copies fill it without a gap} */
    public long bytes() {
        return bytes;
    }

    /** {@return the bytes of the file and their places, in the order of the slice; empty for a slice without elements} */
    public List<StridedCopy> copies() {
        return copies;
    }

    /** Returns whether the slice is the whole tensor. */
    public boolean isWhole() {
        return bytes == tensor.length() && shape.equals(tensor.shape());
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof TensorSlice that && rank == that.rank && bytes == that.bytes
                && tensor.equals(that.tensor) && shape.equals(that.shape) && copies.equals(that.copies);
    }

    @Override
    public int hashCode() {
        return Objects.hash(tensor, rank, shape, bytes, copies);
    }

    @Override
    public String toString() {
        return "TensorSlice[tensor=" + tensor + ", rank=" + rank + ", shape=" + shape.size() + ", bytes=" + bytes
                + ", copies=" + copies.size() + ']';
    }
}
