package io.gds4j.loader.internal.load;

import io.gds4j.internal.file.Pages;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.internal.load.PlannedRun.Needed;
import io.gds4j.loader.parallel.StridedCopy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Which ranges of a file its reads bring, and what that means for the places of runs in memory. */
public enum Ranges {
    /**
     * Each run by itself, from a page boundary of the file on: reads need no copy. Bytes of no tensor may come along, and tensors that are the
     * same bytes share memory.
     */
    EACH,
    /** What the runs of all ranks need, united: no byte of a file is read twice. */
    UNITED;

    /**
     * Returns the ranges of a file, in its order.
     *
     * @param runs what the destinations need, in the order of the file if it has parts of tensors
     * @param hasBoxes whether a file may have parts of tensors that others list: no bytes between two ranges are known to be padding
     */
    List<Needed> of(CheckpointFile file, List<PlannedRun> runs, boolean hasBoxes) {
        return this == EACH ? each(runs) : united(file, runs, hasBoxes);
    }

    /** Returns a range for each run, but one for parts of tensors that are neighbours. */
    private static List<Needed> each(List<PlannedRun> runs) {
        List<Needed> ranges = new ArrayList<>(runs.size());
        for (int first = 0, next; first < runs.size(); first = next) {
            next = first + 1;
            while (next < runs.size() && runs.get(next).follows(runs.get(next - 1))) {
                next++;
            }
            ranges.add(new Needed(
                    runs.get(first).begin(), runs.get(next - 1).end(), List.copyOf(runs.subList(first, next))));
        }
        return ranges;
    }

    private static List<Needed> united(CheckpointFile file, List<PlannedRun> runs, boolean hasBoxes) {
        List<FileRange> rows = new ArrayList<>();
        for (PlannedRun run : runs) {
            for (StridedCopy copy : run.copies()) {
                FileRange.addRows(run.base(), copy, rows);
            }
        }
        List<PlannedRun> sorted = new ArrayList<>(runs);
        sorted.sort(Comparator.comparingLong(run -> run.begin()));
        List<Needed> ranges = new ArrayList<>();
        List<PlannedRun> open = new ArrayList<>();
        int next = 0;
        List<FileRange> united = FileRange.united(rows);
        for (FileRange range : hasBoxes ? united : FileRange.throughPadding(united, file.tensors())) {
            open.removeIf(run -> run.end() <= range.begin());
            for (; next < sorted.size() && sorted.get(next).begin() < range.end(); next++) {
                open.add(sorted.get(next));
            }
            ranges.add(new Needed(range.begin(), range.end(), List.copyOf(open)));
        }
        return ranges;
    }

    /** Returns the bytes that a read brings before the first one that is needed. */
    long head(long begin) {
        return this == EACH ? Pages.offset(begin) : 0;
    }

    /** Returns whether one read may bring what lies before and behind a gap of a file, and the gap. */
    boolean cross(long gap) {
        return this == EACH ? gap <= FileRange.MAX_GAP : gap == 0;
    }

    /** Returns whether tensors that are the same bytes of a file are the same bytes in memory. */
    boolean shareMemory() {
        return this == EACH;
    }

    /** Returns the alignment of memory, for slices of an alignment. */
    long alignment(long ofSlices) {
        return this == EACH ? Math.max(ofSlices, Pages.SIZE) : ofSlices;
    }

    /** Returns the place of a run behind {@code end}, with room for its head; file and memory agree modulo the page where it costs no memory. */
    long place(long end, long head, long fileOffset, long alignment) {
        boolean agree = this == EACH && fileOffset % alignment == 0 && alignment <= Pages.SIZE;
        return agree ? Pages.up(end) + head : Pages.up(end + head, alignment);
    }
}
