package io.gds4j.loader.internal.load;

import io.gds4j.loader.internal.load.Layout.Placed;
import io.gds4j.loader.internal.load.Layout.Rows;
import io.gds4j.loader.internal.load.PlannedBlocks.Block;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Slices {@code first} to {@code last} (indices into the plan) that are in memory as in the file, or one slice of many rows. */
final class PlannedRun {
    /** Largest part of a run that gaps may take, as a divisor: gaps take memory of the destination, too. */
    private static final long GAP_DIVISOR = 8;

    /** A range of a file, and the runs that have bytes in it. */
    record Needed(long begin, long end, List<PlannedRun> runs) {
        long length() {
            return end - begin;
        }
    }

    /** Of the whole layout. */
    private final List<Placed> placed;
    private final Block block;
    private final int first;
    private int last;
    private final long begin;
    private long end;
    /** Bytes of the run that belong to no tensor. */
    private long gaps;
    /** Rows as the slice has them; those of one box if it has several. */
    private final List<StridedCopy> ofSlice;
    private final long base;
    /** Whether the slice had its place before, as one of several boxes. */
    private final boolean assembled;
    private List<StridedCopy> copies;

    private PlannedRun(
            List<Placed> placed, int index, Block block, List<StridedCopy> rows, long base, boolean assembled) {
        this.placed = placed;
        this.block = block;
        this.first = index;
        this.last = index;
        this.ofSlice = rows;
        this.base = base;
        this.assembled = assembled;
        this.copies = rows;
        long min = Long.MAX_VALUE;
        for (StridedCopy copy : copies) {
            min = Math.min(min, copy.fileOffset());
            end = Math.max(end, copy.fileEnd());
        }
        this.begin = min;
    }

    /** Returns a run of one slice, which has no place yet. */
    static PlannedRun of(List<Placed> placed, int index, Block block) {
        TensorSlice slice = placed.get(index).slice();
        return new PlannedRun(placed, index, block, slice.copies(), slice.tensor().fileOffset(), false);
    }

    /** Returns what one box has of a slice, which has its place. */
    static PlannedRun ofBox(List<Placed> placed, int index, Block block, List<StridedCopy> rows, long base) {
        return new PlannedRun(placed, index, block, rows, base, true);
    }

    Block block() {
        return block;
    }

    long begin() {
        return begin;
    }

    long end() {
        return end;
    }

    /** Returns the offset in the file of the tensor or box that the rows are of. */
    long base() {
        return base;
    }

    /** Returns the rows: offsets count from the run until it has its place, and from the block's origin then. */
    List<StridedCopy> copies() {
        return copies;
    }

    boolean isAssembled() {
        return assembled;
    }

    boolean isOneRow() {
        return copies.size() == 1 && copies.getFirst().rows() == 1;
    }

    /**
     * Returns whether one read serves this run and the one before it, both of assembled tensors: their bytes pass slabs on their way to a
     * GPU, and host memory receives rows one after the other.
     */
    boolean follows(PlannedRun before) {
        long gap = begin - before.end;
        boolean suits = block.isOnGpu() ? before.block.isOnGpu()
                : !before.block.isOnGpu() && isOneRow() && before.isOneRow();
        return assembled && before.assembled && suits && gap >= 0 && gap <= FileRange.MAX_GAP;
    }

    /** Returns the bytes of memory. */
    long bytes() {
        return isOneRow() ? end - begin : placed.get(first).slice().bytes();
    }

    /**
     * Adds the next slice if one read of both costs little more than two.
     *
     * @param alignment of the slices in memory
     */
    boolean add(int index, long alignment, Ranges ranges) {
        List<StridedCopy> rows = placed.get(index).slice().copies();
        if (block.isFixed() || !isOneRow() || rows.size() != 1 || rows.getFirst().rows() != 1) {
            return false;
        }
        StridedCopy next = rows.getFirst();
        long gap = next.fileOffset() - end;
        long both = gaps + Math.max(0, gap);
        if (!ranges.cross(gap) || both * GAP_DIVISOR > next.fileEnd() - begin
                || ((next.fileOffset() - begin) & (alignment - 1)) != 0) {
            return false;
        }
        last = index;
        gaps = both;
        end = Math.max(end, next.fileEnd());
        copies = List.of(row(begin, end - begin, 0));
        return true;
    }

    /**
     * Gives the slices their places.
     *
     * @param offset place of the run, from the block's origin
     * @param head bytes before the run that are read to the bytes before its place
     */
    void place(long offset, long head) {
        for (int i = first; i <= last; i++) {
            Placed old = placed.get(i);
            if (old.slice().bytes() > 0) {
                long within = first == last ? 0 : old.slice().copies().getFirst().fileOffset() - begin;
                placed.set(i, new Placed(old.slice(), old.tensor(), block.index(), offset + within));
            }
        }
        List<StridedCopy> moved = new ArrayList<>(copies.size());
        for (StridedCopy copy : copies) {
            moved.add(isOneRow() ? row(begin - head, head + end - begin, offset - head)
                    : moved(copy, offset));
        }
        copies = moved;
    }

    /** Returns the bytes of slices within a range of the file, and adds the indices of their tensors. */
    long bytesWithin(long from, long to, Set<Integer> brought) {
        if (first == last) {
            long bytes = 0;
            for (StridedCopy copy : ofSlice) {
                bytes += bytesBetween(copy, from, to);
            }
            if (bytes > 0) {
                brought.add(placed.get(first).tensor());
            }
            return bytes;
        }
        long bytes = 0;
        long covered = from;
        for (int i = first; i <= last; i++) {
            for (StridedCopy copy : placed.get(i).slice().copies()) {
                if (copy.fileOffset() >= to) {
                    return bytes;
                }
                if (copy.fileEnd() > from) {
                    bytes += bytesBetween(copy, covered, to);
                    covered = Math.clamp(copy.fileEnd(), covered, to);
                    brought.add(placed.get(i).tensor());
                }
            }
        }
        return bytes;
    }

    /** Adds the rows with bytes within a range of the file. */
    void addRows(long from, long to, List<Rows> rows) {
        for (StridedCopy copy : copies) {
            if (bytesBetween(copy, from, to) > 0) {
                rows.add(new Rows(block.index(), copy));
            }
        }
    }

    private static StridedCopy row(long fileOffset, long length, long sliceOffset) {
        return new StridedCopy(fileOffset, length, 1, length, sliceOffset, length);
    }

    /** Returns a row at another place. */
    static StridedCopy moved(StridedCopy copy, long distance) {
        return new StridedCopy(copy.fileOffset(), copy.width(), copy.rows(), copy.filePitch(),
                distance + copy.sliceOffset(), copy.slicePitch());
    }

    /** Returns how many bytes of the rows are within a range of the file. */
    private static long bytesBetween(StridedCopy copy, long from, long to) {
        return Math.max(0, bytesBefore(copy, to) - bytesBefore(copy, from));
    }

    private static long bytesBefore(StridedCopy copy, long offset) {
        long within = Math.clamp(offset, copy.fileOffset(), copy.fileEnd()) - copy.fileOffset();
        long rows = copy.rows() == 1 ? 0 : within / copy.filePitch();
        return rows * copy.width() + Math.min(copy.width(), within - rows * copy.filePitch());
    }
}
