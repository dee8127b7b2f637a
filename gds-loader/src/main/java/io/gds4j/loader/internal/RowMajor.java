package io.gds4j.loader.internal;

import io.gds4j.loader.format.TensorInfo;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * Moves the elements of a tensor to their places in row-major order. The only code that transposes. Immutable and thread-safe.
 *
 * <p>
 * The source comes as it lies in its file, in parts of any length, so a caller needs memory for the result and for one part.
 */
public final class RowMajor {
    /** Bytes that stay together. */
    private final long run;
    /** Dimensions of runs in the order of the source, outermost first. */
    private final long[] sizes;
    /** Bytes in the result from one index of each of these dimensions to the next. */
    private final long[] steps;

    private RowMajor(long run, List<Long> sizes, List<Long> steps) {
        this.run = run;
        this.sizes = sizes.stream().mapToLong(Long::longValue).toArray();
        this.steps = steps.stream().mapToLong(Long::longValue).toArray();
    }

    /**
     * Returns the moves of a tensor.
     *
     * @param tensor a tensor with elements, whose blocks have one element
     * @param elementBytes bytes of an element, 1 or more
     */
    public static RowMajor of(TensorInfo tensor, int elementBytes) {
        List<Long> shape = tensor.shape();
        long[] strides = new long[shape.size()];
        long stride = elementBytes;
        for (int i = strides.length - 1; i >= 0; i--) {
            strides[i] = stride;
            stride *= shape.get(i);
        }
        long run = elementBytes;
        List<Long> sizes = new ArrayList<>();
        List<Long> steps = new ArrayList<>();
        for (int dimension : tensor.order().dimensions().reversed()) {
            long size = shape.get(dimension);
            if (size == 1) {
                continue;
            }
            if (sizes.isEmpty() && strides[dimension] == run) {
                run *= size;
            } else if (!sizes.isEmpty() && strides[dimension] == steps.getFirst() * sizes.getFirst()) {
                sizes.set(0, sizes.getFirst() * size);
            } else {
                sizes.addFirst(size);
                steps.addFirst(strides[dimension]);
            }
        }
        return new RowMajor(run, sizes, steps);
    }

    /**
     * Moves a part of the source.
     *
     * @param part bytes of the tensor as they lie in its file
     * @param offset offset of the part in the tensor
     * @param to the whole tensor in row-major order
     */
    public void move(MemorySegment part, long offset, MemorySegment to) {
        int last = sizes.length - 1;
        long[] index = new long[sizes.length];
        long place = 0;
        long runs = offset / run;
        for (int i = last; i >= 0; i--) {
            index[i] = runs % sizes[i];
            runs /= sizes[i];
            place += index[i] * steps[i];
        }
        long within = offset % run;
        long at = 0;
        while (at < part.byteSize()) {
            long left = part.byteSize() - at;
            if (last < 0 || within > 0 || left < run) {
                // a part may begin and end within a run
                long length = Math.min(run - within, left);
                MemorySegment.copy(part, at, to, place + within, length);
                at += length;
                within = (within + length) % run;
                if (within > 0 || last < 0) {
                    return;
                }
                place = next(index, 1, place);
            } else {
                long count = Math.min(sizes[last] - index[last], left / run);
                moveRuns(part, at, to, place, count);
                at += count * run;
                place = next(index, count, place);
            }
        }
    }

    /** Advances by runs of the innermost dimension and returns the new place. */
    private long next(long[] index, long count, long place) {
        int i = sizes.length - 1;
        index[i] += count;
        long moved = place + count * steps[i];
        while (i > 0 && index[i] == sizes[i]) {
            moved -= sizes[i] * steps[i];
            index[i] = 0;
            i--;
            index[i]++;
            moved += steps[i];
        }
        return moved;
    }

    /** Moves runs of the innermost dimension; those of common elements without a call for each of them. */
    private void moveRuns(MemorySegment part, long from, MemorySegment to, long place, long count) {
        long step = steps[steps.length - 1];
        switch ((int) Math.min(run, Integer.MAX_VALUE)) {
            case Byte.BYTES -> {
                for (long i = 0; i < count; i++) {
                    to.set(ValueLayout.JAVA_BYTE, place + i * step, part.get(ValueLayout.JAVA_BYTE, from + i));
                }
            }
            case Short.BYTES -> {
                for (long i = 0; i < count; i++) {
                    short element = part.get(ValueLayout.JAVA_SHORT_UNALIGNED, from + i * Short.BYTES);
                    to.set(ValueLayout.JAVA_SHORT_UNALIGNED, place + i * step, element);
                }
            }
            case Integer.BYTES -> {
                for (long i = 0; i < count; i++) {
                    int element = part.get(ValueLayout.JAVA_INT_UNALIGNED, from + i * Integer.BYTES);
                    to.set(ValueLayout.JAVA_INT_UNALIGNED, place + i * step, element);
                }
            }
            case Long.BYTES -> {
                for (long i = 0; i < count; i++) {
                    long element = part.get(ValueLayout.JAVA_LONG_UNALIGNED, from + i * Long.BYTES);
                    to.set(ValueLayout.JAVA_LONG_UNALIGNED, place + i * step, element);
                }
            }
            default -> {
                for (long i = 0; i < count; i++) {
                    MemorySegment.copy(part, from + i * run, to, place + i * step, run);
                }
            }
        }
    }
}
