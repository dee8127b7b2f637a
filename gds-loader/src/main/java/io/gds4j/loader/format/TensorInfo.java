package io.gds4j.loader.format;

import io.gds4j.error.CuFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A tensor as a checkpoint's header describes it.
 *
 * @param name name in the checkpoint
 * @param dtype element type
 * @param shape dimensions as a program indexes them; empty for a scalar. Unsigned: in a tensor without elements a dimension may
 *        exceed 2^63-1
 * @param file file that contains the tensor
 * @param fileOffset offset of its first byte in the file
 * @param length length in bytes; 0 for a tensor without elements
 * @param order how the dimensions lie in the file and in memory. Row-major wherever the bytes are, such as for one dimension:
 *        the constructor simplifies other orders then
 * @since 0.1
 */
public record TensorInfo(
        String name,
        DType dtype,
        List<Long> shape,
        Path file,
        long fileOffset,
        long length,
        DimensionOrder order) {

    /**
     * Creates a description.
     *
     * @throws CuFileException INVALID_VALUE for an order of another number of dimensions, and for one that is not row-major and a
     *         type with several elements in a block
     */
    public TensorInfo {
        shape = List.copyOf(shape);
        if (order.dimensions().size() != shape.size()) {
            throw invalid(name, "has %s dimensions and an order of %s"
                    .formatted(shape.size(), order.dimensions().size()));
        }
        order = order.simplified(shape);
        if (dtype.blockElements() > 1 && !order.isRowMajor()) {
            throw invalid(name, "is %s, and blocks of type %s of several elements must be row-major"
                    .formatted(order, dtype));
        }
    }

    /** Creates a description of a tensor in row-major order. */
    public TensorInfo(String name, DType dtype, List<Long> shape, Path file, long fileOffset, long length) {
        this(name, dtype, shape, file, fileOffset, length, DimensionOrder.rowMajor(shape.size()));
    }

    private static CuFileException invalid(String name, String detail) {
        return CuFileException.invalid("TensorInfo", "tensor %s %s".formatted(CheckpointException.quote(name), detail));
    }

    /**
     * Returns the number of elements: 1 for a scalar, 0 if a dimension is 0. Elements of quantised types count, not their blocks.
     *
     * @throws CuFileException INVALID_VALUE if the description has more than 2^63-1 elements, which no checkpoint has
     */
    public long elements() {
        if (shape.contains(0L)) {
            return 0;
        }
        long elements = 1;
        try {
            for (long dimension : shape) {
                elements = Math.multiplyExact(elements, dimension);
            }
        } catch (ArithmeticException e) {
            throw invalid(name, "has more than 2^63-1 elements");
        }
        if (elements < 0) {
            throw invalid(name, "has more than 2^63-1 elements");
        }
        return elements;
    }

    /** Returns the offset after the last byte in the file. */
    public long fileEnd() {
        return fileOffset + length;
    }

    /**
     * Returns the number of elements from one index of a dimension to the next, for each dimension. It is exact for tensors with
     * elements of types whose blocks have one element.
     */
    public List<Long> strides() {
        Long[] strides = new Long[shape.size()];
        long stride = 1;
        for (int dimension : order.dimensions().reversed()) {
            strides[dimension] = stride;
            // A wrapped product is that of a tensor without elements, whose strides nothing uses.
            stride *= Math.max(1, shape.get(dimension));
        }
        return Arrays.asList(strides);
    }

    @Override
    public String toString() {
        return "%s %s%s%s, %s bytes at %s of %s"
                .formatted(
                        CheckpointException.quote(name),
                        dtype,
                        shape.stream()
                                .map(Long::toUnsignedString)
                                .collect(Collectors.joining(", ", "[", "]")),
                        order.isRowMajor() ? "" : " in the order " + order,
                        length,
                        fileOffset,
                        file);
    }
}
