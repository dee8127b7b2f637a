package io.gds4j.loader.internal.load;

import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.StridedCopy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Bytes {@code begin} to {@code end} of a file. */
record FileRange(long begin, long end) {
    /** Smallest row in bytes that is read by itself, if no rank needs its neighbours. */
    static final long MIN_ROW = 128 << 10;
    /** Largest gap, in bytes, that costs less to read than another request. */
    static final long MAX_GAP = 64 << 10;

    long length() {
        return end - begin;
    }

    /** Adds the ranges to read for rows of the tensor or box that begins at {@code base}. */
    static void addRows(long base, StridedCopy copy, List<FileRange> ranges) {
        if (copy.rows() > 1 && copy.width() >= MIN_ROW) {
            for (long row = 0; row < copy.rows(); row++) {
                long begin = copy.fileOffset() + row * copy.filePitch();
                ranges.add(new FileRange(begin, begin + copy.width()));
            }
        } else if (copy.rows() > 1) {
            long begin = copy.fileOffset() - (copy.fileOffset() - base) % copy.filePitch();
            ranges.add(new FileRange(begin, begin + copy.rows() * copy.filePitch()));
        } else {
            ranges.add(new FileRange(copy.fileOffset(), copy.fileEnd()));
        }
    }

    /** Returns the ranges sorted, without overlaps. */
    static List<FileRange> united(List<FileRange> ranges) {
        List<FileRange> sorted = new ArrayList<>(ranges);
        sorted.sort(Comparator.comparingLong(FileRange::begin));
        List<FileRange> united = new ArrayList<>();
        for (FileRange range : sorted) {
            FileRange last = united.isEmpty() ? null : united.getLast();
            if (last != null && range.begin <= last.end) {
                united.set(united.size() - 1, new FileRange(last.begin, Math.max(last.end, range.end)));
            } else if (range.length() > 0) {
                united.add(range);
            }
        }
        return united;
    }

    /** Unites ranges with nothing but a little padding between them; bytes of tensors are never read for nothing. */
    static List<FileRange> throughPadding(List<FileRange> ranges, List<TensorInfo> all) {
        List<FileRange> tensors = new ArrayList<>(all.size());
        for (TensorInfo tensor : all) {
            tensors.add(new FileRange(tensor.fileOffset(), tensor.fileEnd()));
        }
        tensors = united(tensors);
        List<FileRange> united = new ArrayList<>();
        int next = 0;
        for (FileRange range : ranges) {
            FileRange last = united.isEmpty() ? null : united.getLast();
            boolean padding = last != null && range.begin - last.end <= MAX_GAP;
            while (padding && next < tensors.size() && tensors.get(next).end <= last.end) {
                next++;
            }
            if (padding && (next == tensors.size() || tensors.get(next).begin >= range.begin)) {
                united.set(united.size() - 1, new FileRange(last.begin, range.end));
            } else {
                united.add(range);
            }
        }
        return united;
    }
}
