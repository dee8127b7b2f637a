package io.gds4j.loader.parallel;

import io.gds4j.loader.format.TensorInfo;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The part of a tensor that one rank keeps.
 *
 * @since 0.1
 */
public final class TensorSlice {
    private final Parts parts;

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
        parts = new Parts(tensor, rank, List.copyOf(shape), bytes, List.copyOf(copies));
    }

    /** {@return the whole tensor} */
    public TensorInfo tensor() {
        return parts.tensor;
    }

    /** {@return the rank, 0 or more} */
    public int rank() {
        return parts.rank;
    }

    /** {@return dimensions of the slice, which lie in the order of the tensor} */
    public List<Long> shape() {
        return parts.shape;
    }

    /** {@return length of the slice in bytes; the copies fill it without a gap} */
    public long bytes() {
        return parts.bytes;
    }

    /** {@return the bytes of the file and their places, in the order of the slice; empty for a slice without elements} */
    public List<StridedCopy> copies() {
        return parts.copies;
    }

    /** Returns whether the slice is the whole tensor. */
    public boolean isWhole() {
        return parts.bytes == parts.tensor.length() && parts.shape.equals(parts.tensor.shape());
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof TensorSlice that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return "TensorSlice[tensor=" + parts.tensor + ", rank=" + parts.rank + ", shape=" + parts.shape.size()
                + ", bytes=" + parts.bytes
                + ", copies=" + parts.copies.size() + ']';
    }

    private record Parts(TensorInfo tensor, int rank, List<Long> shape, long bytes, List<StridedCopy> copies) {}
}
