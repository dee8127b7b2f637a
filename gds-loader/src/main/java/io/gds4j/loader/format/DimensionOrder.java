package io.gds4j.loader.format;

import io.gds4j.error.CuFileException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * The order in which the dimensions of a tensor lie in memory. A shape says how many elements each dimension has; the order says
 * where they are.
 *
 * <pre>{@code
 * if (!tensor.info().order().isRowMajor()) {
 *     List<Long> strides = tensor.info().strides();   // [1, 2] for a shape of [2, 4] in column-major order
 * }
 * }</pre>
 *
 * @param dimensions the numbers of all dimensions, outermost first: neighbours of the last one lie side by side
 * @since 0.1
 */
public record DimensionOrder(List<Integer> dimensions) {
    private static final int MOST_KEPT = 8;
    private static final DimensionOrder[] ROW_MAJOR = new DimensionOrder[MOST_KEPT + 1];

    static {
        for (int i = 0; i <= MOST_KEPT; i++) {
            ROW_MAJOR[i] = new DimensionOrder(ascending(i));
        }
    }

    /**
     * Creates an order.
     *
     * @throws CuFileException INVALID_VALUE unless each number from 0 on occurs once
     */
    public DimensionOrder {
        dimensions = List.copyOf(dimensions);
        BitSet seen = new BitSet();
        for (int dimension : dimensions) {
            if (dimension < 0 || dimension >= dimensions.size() || seen.get(dimension)) {
                throw CuFileException.invalid("DimensionOrder",
                        "the order %s must have each number from 0 to %s once"
                                .formatted(dimensions, dimensions.size() - 1));
            }
            seen.set(dimension);
        }
    }

    /**
     * Returns the order of C: the last dimension is the innermost.
     *
     * @param dimensions number of dimensions, 0 or more
     */
    public static DimensionOrder rowMajor(int dimensions) {
        return dimensions >= 0 && dimensions <= MOST_KEPT
                ? ROW_MAJOR[dimensions]
                : new DimensionOrder(ascending(dimensions));
    }

    /**
     * Returns the order of Fortran: the first dimension is the innermost.
     *
     * @param dimensions number of dimensions, 0 or more
     */
    public static DimensionOrder columnMajor(int dimensions) {
        return new DimensionOrder(ascending(dimensions).reversed());
    }

    private static List<Integer> ascending(int dimensions) {
        List<Integer> numbers = new ArrayList<>(dimensions);
        for (int i = 0; i < dimensions; i++) {
            numbers.add(i);
        }
        return numbers;
    }

    /** Returns true if the last dimension is the innermost, the one before it comes next, and so on. */
    public boolean isRowMajor() {
        return isSorted(1);
    }

    /** Returns true if the first dimension is the innermost, the one after it comes next, and so on. */
    public boolean isColumnMajor() {
        return isSorted(-1);
    }

    private boolean isSorted(int step) {
        for (int i = 1; i < dimensions.size(); i++) {
            if (dimensions.get(i) - dimensions.get(i - 1) != step) {
                return false;
            }
        }
        return true;
    }

    /** Returns the row-major order if a tensor of this shape has the same bytes in it, else this order. */
    DimensionOrder simplified(List<Long> shape) {
        int last = -1;
        for (int dimension : dimensions) {
            long size = shape.get(dimension);
            if (size == 0) {
                return rowMajor(dimensions.size());
            }
            if (size != 1) {
                if (dimension < last) {
                    return shape.contains(0L) ? rowMajor(dimensions.size()) : this;
                }
                last = dimension;
            }
        }
        return rowMajor(dimensions.size());
    }

    // The generated methods link themselves at their first use, which costs 4 ms of a cold load.
    @Override
    public boolean equals(Object other) {
        return other instanceof DimensionOrder order && order.dimensions.equals(dimensions);
    }

    @Override
    public int hashCode() {
        return dimensions.hashCode();
    }

    /** Returns {@code row-major}, {@code column-major}, or the dimensions such as {@code [0, 2, 3, 1]}. */
    @Override
    public String toString() {
        if (isRowMajor()) {
            return "row-major";
        }
        return isColumnMajor() ? "column-major" : dimensions.toString();
    }
}
