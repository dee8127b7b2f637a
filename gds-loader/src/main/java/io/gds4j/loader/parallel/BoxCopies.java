package io.gds4j.loader.parallel;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorBox;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.DimensionSplit.Range;
import io.gds4j.loader.parallel.DimensionSplit.Uneven;
import java.util.ArrayList;
import java.util.List;

/** Computes which rows of a tensor's boxes a slice consists of. Pure. */
final class BoxCopies {
    /** Most copies of a slice, of about 100 bytes each: more are from a tensor that is cut in dimensions far from each other. */
    private static final int MAX_COPIES = 1 << 20;

    /** Elements that lie evenly in a box and in the slice, from one to the next. */
    private record Level(long count, long fileStep, long sliceStep) {
    }

    private final TensorInfo tensor;
    private final int dimension;
    /** Dimensions of the slice. */
    private final List<Long> shape;
    private final List<StridedCopy> copies = new ArrayList<>();
    private long size;

    private BoxCopies(TensorInfo tensor, int dimension, List<Long> shape) {
        this.tensor = tensor;
        this.dimension = dimension;
        this.shape = shape;
    }

    /** Returns the copies of a whole tensor. */
    static BoxCopies whole(TensorInfo tensor) {
        try {
            long size = tensor.shape().getFirst();
            return cut(tensor, 0, List.of(new Range(0, size)), tensor.shape());
        } catch (Uneven e) {
            throw CheckpointException.of(CheckpointRule.TENSOR_BOXES, tensor.file(), tensor.fileOffset(), tensor.name(),
                    "tensor %s %s".formatted(CheckpointException.quote(tensor.name()), e.getMessage()));
        }
    }

    /**
     * Returns the copies of a slice of a tensor in several places.
     *
     * @param ranges indices of the dimension that the slice keeps, one after the other; without empty ones
     * @param shape dimensions of the slice
     */
    static BoxCopies cut(TensorInfo tensor, int dimension, List<Range> ranges, List<Long> shape) throws Uneven {
        BoxCopies all = new BoxCopies(tensor, dimension, shape);
        List<TensorBox> boxes = tensor.boxes();
        for (int i = 0; i < boxes.size(); i++) {
            TensorBox box = boxes.get(i);
            long begin = box.begin().get(dimension);
            long end = begin + box.shape().get(dimension);
            long kept = 0;
            for (Range range : ranges) {
                long from = Math.max(begin, range.start());
                long to = Math.min(end, range.end());
                if (from < to) {
                    all.add(i, box, new Range(from - begin, to - from), kept + from - range.start());
                }
                kept += range.length();
            }
        }
        all.size = all.bytes(elements(shape));
        return all;
    }

    /** Returns the bytes of the slice. */
    long size() {
        return size;
    }

    /** Returns the copies, which together fill the slice. */
    List<StridedCopy> copies() {
        return copies;
    }

    private static long elements(List<Long> shape) {
        long elements = 1;
        for (long size : shape) {
            elements *= size;
        }
        return elements;
    }

    /**
     * Adds a part of a box.
     *
     * @param range what the part has of the dimension, from the box's begin
     * @param place where the range begins in the slice
     */
    private void add(int number, TensorBox box, Range range, long place) throws Uneven {
        long run = 1;
        List<Level> levels = new ArrayList<>();
        long fileStep = 1;
        long sliceStep = 1;
        long fileStart = 0;
        long sliceStart = 0;
        for (int i : tensor.order().dimensions().reversed()) {
            boolean cut = i == dimension;
            long count = cut ? range.length() : box.shape().get(i);
            fileStart += cut ? range.start() * fileStep : 0;
            sliceStart += (cut ? place : box.begin().get(i)) * sliceStep;
            Level last = levels.isEmpty() ? new Level(run, 1, 1) : levels.getLast();
            if (count > 1 && fileStep == last.fileStep * last.count && sliceStep == last.sliceStep * last.count) {
                if (levels.isEmpty()) {
                    run *= count;
                } else {
                    levels.set(levels.size() - 1, new Level(last.count * count, last.fileStep, last.sliceStep));
                }
            } else if (count > 1) {
                levels.add(new Level(count, fileStep, sliceStep));
            }
            fileStep *= box.shape().get(i);
            sliceStep *= shape.get(i);
        }
        Level rows = levels.isEmpty() ? new Level(1, run, run) : levels.removeFirst();
        StridedCopy first = new StridedCopy(number, box.fileOffset() + bytes(fileStart), bytes(run), rows.count,
                bytes(rows.count == 1 ? run : rows.fileStep), bytes(sliceStart),
                bytes(rows.count == 1 ? run : rows.sliceStep));
        repeat(first, levels, levels.size());
    }

    /** Adds rows once for each element of the outer levels. */
    private void repeat(StridedCopy rows, List<Level> levels, int open) throws Uneven {
        if (open == 0) {
            if (copies.size() == MAX_COPIES) {
                throw new Uneven("is cut into more than %s sets of rows".formatted(MAX_COPIES));
            }
            copies.add(rows);
            return;
        }
        Level level = levels.get(open - 1);
        for (long i = 0; i < level.count; i++) {
            repeat(new StridedCopy(rows.box(), rows.fileOffset() + i * bytes(level.fileStep), rows.width(),
                    rows.rows(), rows.filePitch(), rows.sliceOffset() + i * bytes(level.sliceStep),
                    rows.slicePitch()), levels, open - 1);
        }
    }

    private long bytes(long elements) throws Uneven {
        return bytes(tensor, elements);
    }

    /** @throws Uneven if the elements are no whole number of bytes */
    static long bytes(TensorInfo tensor, long elements) throws Uneven {
        DType type = tensor.dtype();
        return type.bytes(elements)
                .orElseThrow(() -> new Uneven("is of type %s, and the split would cut a block of %s elements"
                        .formatted(type, type.blockElements())));
    }
}
