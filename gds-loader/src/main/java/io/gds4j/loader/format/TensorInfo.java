package io.gds4j.loader.format;

import io.gds4j.error.CuFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A tensor as a checkpoint's header describes it.
 *
 * @since 0.1
 */
public final class TensorInfo {
    private final String name;
    private final DType dtype;
    private final List<Long> shape;
    private final Path file;
    private final long fileOffset;
    private final long length;
    private final DimensionOrder order;
    /** The boxes of a tensor that lies in several places, else empty. */
    private final List<TensorBox> boxes;

    /**
     * Creates a description of a tensor in one place.
     *
     * @param name as {@link #name}
     * @param dtype as {@link #dtype}
     * @param shape as {@link #shape}
     * @param file as {@link #file}
     * @param fileOffset as {@link #fileOffset}
     * @param length as {@link #length}
     * @param order as {@link #order}
     * @throws CuFileException INVALID_VALUE for an order of another number of dimensions, and for one that is not row-major and a
     *         type with several elements in a block
     */
    public TensorInfo(
            String name,
            DType dtype,
            List<Long> shape,
            Path file,
            long fileOffset,
            long length,
            DimensionOrder order) {
        this(name, dtype, shape, file, fileOffset, length, order, List.of());
    }

    private TensorInfo(
            String name,
            DType dtype,
            List<Long> shape,
            Path file,
            long fileOffset,
            long length,
            DimensionOrder order,
            List<TensorBox> boxes) {
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
        this.name = name;
        this.dtype = dtype;
        this.shape = shape;
        this.file = file;
        this.fileOffset = fileOffset;
        this.length = length;
        this.order = order;
        this.boxes = boxes;
    }

    /**
     * Creates a description of a tensor that lies in several places, as those of a distributed checkpoint do.
     *
     * @param name as {@link #name}
     * @param dtype as {@link #dtype}
     * @param shape as {@link #shape}
     * @param order order of the tensor, and of the elements of each box
     * @param boxes boxes that fill the shape without a gap or an overlap, 1 or more
     * @return the description
     * @throws CuFileException INVALID_VALUE for no boxes, for a size beyond 2^63 bytes, and as the constructor
     */
    public static TensorInfo ofBoxes(String name, DType dtype, List<Long> shape, DimensionOrder order,
            List<TensorBox> boxes) {
        if (boxes.isEmpty()) {
            throw invalid(name, "has no boxes");
        }
        long length = dtype.bytes(shape).orElseThrow(() -> invalid(name, "has a size that does not fit 64 bits"));
        TensorBox first = boxes.getFirst();
        return new TensorInfo(name, dtype, shape, first.file(), first.fileOffset(), length, order,
                boxes.size() == 1 ? List.of() : List.copyOf(boxes));
    }

    /** Returns the same tensor under another name. */
    public TensorInfo renamed(String other) {
        return new TensorInfo(other, dtype, shape, file, fileOffset, length, order, boxes);
    }

    /** {@return name in the checkpoint} */
    public String name() {
        return name;
    }

    /** {@return element type} */
    public DType dtype() {
        return dtype;
    }

    /**
     * {@return dimensions as a program indexes them; empty for a scalar. Unsigned: in a tensor without elements a dimension may
     * exceed 2^63-1}
     */
    public List<Long> shape() {
        return shape;
    }

    /** {@return file that contains the tensor, or its first box} */
    public Path file() {
        return file;
    }

    /** {@return offset of its first byte in the file, or of that of its first box} */
    public long fileOffset() {
        return fileOffset;
    }

    /** {@return length in bytes; 0 for a tensor without elements} */
    public long length() {
        return length;
    }

    /**
     * {@return how the dimensions lie in the file and in memory. Row-major wherever the bytes are, such as for one dimension: the
     * constructor simplifies other orders then}
     */
    public DimensionOrder order() {
        return order;
    }

    /** {@return where the tensor lies: one box, or several that fill its shape} */
    public List<TensorBox> boxes() {
        return isInOnePlace()
                ? List.of(TensorBox.of(file, fileOffset, Collections.nCopies(shape.size(), 0L), shape))
                : boxes;
    }

    /** Returns whether the bytes of the tensor follow each other in one file. */
    public boolean isInOnePlace() {
        return boxes.isEmpty();
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

    /** Returns the offset after the last byte in the file, for a tensor in one place. */
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
        return "%s %s%s%s, %s bytes %sat %s of %s"
                .formatted(
                        CheckpointException.quote(name),
                        dtype,
                        shape.stream()
                                .map(Long::toUnsignedString)
                                .collect(Collectors.joining(", ", "[", "]")),
                        order.isRowMajor() ? "" : " in the order " + order,
                        length,
                        isInOnePlace() ? "" : "in %s boxes, the first ".formatted(boxes.size()),
                        fileOffset,
                        file);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof TensorInfo that && fileOffset == that.fileOffset && length == that.length
                && name.equals(that.name) && dtype.equals(that.dtype) && shape.equals(that.shape)
                && file.equals(that.file) && order.equals(that.order) && boxes.equals(that.boxes);
    }

    @Override
    public int hashCode() {
        return Objects.hash(name, dtype, shape, file, fileOffset, length, order);
    }
}
