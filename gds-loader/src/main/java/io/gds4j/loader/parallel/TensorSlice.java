package io.gds4j.loader.parallel;

import io.gds4j.loader.format.TensorInfo;
import java.nio.file.Path;
import java.util.List;

/**
 * The part of a tensor that one rank keeps.
 *
 * @param tensor the whole tensor
 * @param rank the rank, 0 or more
 * @param shape dimensions of the slice, which lie in the order of the tensor
 * @param bytes length of the slice in bytes; the copies fill it without a gap
 * @param copies the bytes of the file and their places, in the order of the slice, or box by box for a tensor of several boxes; empty
 *        for a slice without elements
 * @since 0.1
 */
public record TensorSlice(TensorInfo tensor, int rank, List<Long> shape, long bytes, List<StridedCopy> copies) {
    /** Copies the lists. */
    public TensorSlice {
        shape = List.copyOf(shape);
        copies = List.copyOf(copies);
    }

    /** Returns a rank's slice that is the whole tensor. */
    public static TensorSlice whole(TensorInfo tensor, int rank) {
        long length = tensor.length();
        if (tensor.isInOnePlace() || length == 0) {
            return new TensorSlice(tensor, rank, tensor.shape(), length, length == 0 ? List.of()
                    : List.of(new StridedCopy(tensor.fileOffset(), length, 1, length, 0, length)));
        }
        return of(tensor, rank, tensor.shape(), BoxCopies.whole(tensor));
    }

    /** Returns a rank's slice of a tensor in several places. */
    static TensorSlice of(TensorInfo tensor, int rank, List<Long> shape, BoxCopies all) {
        return new TensorSlice(tensor, rank, shape, all.size(), all.copies());
    }

    /** Returns the file that has the bytes of one of the copies. */
    public Path file(StridedCopy copy) {
        return tensor.isInOnePlace() ? tensor.file() : tensor.boxes().get(copy.box()).file();
    }

    /** Returns whether the slice is the whole tensor. */
    public boolean isWhole() {
        return bytes == tensor.length() && shape.equals(tensor.shape());
    }

    @Override
    public String toString() {
        return "TensorSlice[tensor=" + tensor + ", rank=" + rank + ", shape=" + shape.size()
                + ", bytes=" + bytes
                + ", copies=" + copies.size() + ']';
    }
}
