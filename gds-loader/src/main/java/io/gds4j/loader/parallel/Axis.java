package io.gds4j.loader.parallel;

import io.gds4j.loader.parallel.DimensionSplit.Range;
import io.gds4j.loader.parallel.DimensionSplit.Uneven;
import java.util.ArrayList;
import java.util.List;

/**
 * Where the outputs or the inputs of a layer lie in one of its tensors.
 *
 * @param dimension dimension of the tensor; -1 if the tensor has none, so that every rank keeps all of it
 * @param elements outputs or inputs of the layer; bits of them where a packed type hides their number
 * @param block elements that are never cut, 1 or more
 * @param indices indices of the dimension that hold a block, 1 or more; the last block may have fewer elements
 */
record Axis(int dimension, long elements, long block, long indices) {

    /** Of a tensor without outputs or without inputs. */
    static final Axis NONE = new Axis(-1, 0, 1, 1);

    /** Smallest block of outputs that libraries scale together. */
    private static final long MIN_TILE = 16;

    /** Returns the axis of a dimension with an index for each element. */
    static Axis of(int dimension, long elements) {
        return new Axis(dimension, elements, 1, 1);
    }

    /**
     * Returns the axis of values of some bits that are packed one after the other into 32-bit words. Values that do not fill a
     * word evenly are packed in blocks of 32.
     */
    static Axis packed(int dimension, long elements, long bits) {
        return 32 % bits == 0
                ? new Axis(dimension, elements, 32 / bits, 1)
                : new Axis(dimension, elements, 32, bits);
    }

    /**
     * Returns the axis of scales, each of which belongs to a block of elements. The size of blocks is a power of two, and the
     * last one may be shorter. A single scale goes to every rank.
     */
    static Axis ofScales(int dimension, long scales, long elements) throws Uneven {
        if (scales == elements) {
            return of(dimension, elements);
        }
        if (scales == 1) {
            return NONE;
        }
        long block = Long.highestOneBit(Math.ceilDiv(elements, scales) - 1) << 1;
        if (Math.ceilDiv(elements, block) != scales) {
            throw new Uneven(
                    "has %s blocks for the %s elements of its weight, which is no block size that is a power of two"
                            .formatted(scales, elements));
        }
        return new Axis(dimension, elements, block, 1);
    }

    /** Returns the axis of scales along the outputs: one for each, one for all, or one for each tile. */
    static Axis ofOutputScales(int dimension, long scales, long outputs) throws Uneven {
        Axis axis = ofScales(dimension, scales, outputs);
        if (axis.block > 1 && axis.block < MIN_TILE) {
            throw new Uneven("has %s scales for %s outputs, an order that is not known".formatted(scales, outputs));
        }
        return axis;
    }

    /** Returns the axis of groups of equal size. */
    static Axis ofGroups(int dimension, long groups, long elements) throws Uneven {
        if (groups < 1 || elements < groups || elements % groups != 0) {
            throw new Uneven("has %s groups, which do not divide the inputs of its weight".formatted(groups));
        }
        return new Axis(dimension, elements, elements / groups, 1);
    }

    /** Returns the indices of the dimension that hold ranges of elements. */
    List<Range> indices(List<Range> ranges, long size, int rank) throws Uneven {
        List<Range> found = new ArrayList<>(ranges.size());
        for (Range range : ranges) {
            boolean ends = range.end() % block == 0 || range.end() == elements;
            if (range.length() > 0 && (range.start() % block != 0 || !ends)) {
                throw new Uneven("has values for each block of %s elements, and rank %s would keep elements %s to %s"
                        .formatted(block, rank, range.start(), range.end() - 1));
            }
            long start = Math.min(range.start() / block * indices, size);
            long end = range.end() == elements ? size : range.end() / block * indices;
            found.add(new Range(start, range.length() == 0 ? 0 : end - start));
        }
        return found;
    }
}
