package io.gds4j.dataset;

import io.gds4j.dataset.DoneRecords.Range;
import java.util.Arrays;
import java.util.List;

/** The records of an epoch that are left, numbered from 0 in the epoch's order: gaps between ranges that are done. */
final class LeftRecords {
    /** First index of each gap in the epoch's order. */
    private final long[] begins;
    /** Number of left records in front of each gap. */
    private final long[] before;
    private final long count;

    private LeftRecords(long[] begins, long[] before, long count) {
        this.begins = begins;
        this.before = before;
        this.count = count;
    }

    /**
     * Returns the records that are not in ranges.
     *
     * @param done ranges of one epoch, sorted; they do not touch
     * @param records number of records of the epoch
     */
    static LeftRecords without(List<Range> done, long records) {
        long[] begins = new long[done.size() + 1];
        long[] before = new long[done.size() + 1];
        int gaps = 0;
        long count = 0;
        for (int i = 0; i <= done.size(); i++) {
            long begin = i == 0 ? 0 : done.get(i - 1).end();
            long end = i == done.size() ? records : done.get(i).begin();
            if (begin < end) {
                begins[gaps] = begin;
                before[gaps] = count;
                gaps++;
                count += end - begin;
            }
        }
        return new LeftRecords(Arrays.copyOf(begins, gaps), Arrays.copyOf(before, gaps), count);
    }

    long count() {
        return count;
    }

    /** Returns the index in the epoch's order of a left record. Numbers from {@link #count} on begin again with the first. */
    long index(long number) {
        long one = number < count ? number : number % count;
        int gap = gap(one);
        return begins[gap] + one - before[gap];
    }

    private int gap(long number) {
        int found = Arrays.binarySearch(before, number);
        return found >= 0 ? found : -found - 2;
    }

    /** Adds the ranges of left records {@code from} to {@code from + size - 1}, which may begin again with the first. */
    void addRanges(long epoch, long from, long size, List<Range> ranges) {
        if (size >= count) {
            add(epoch, 0, count, ranges);
        } else {
            long begin = from % count;
            long first = Math.min(size, count - begin);
            add(epoch, begin, begin + first, ranges);
            add(epoch, 0, size - first, ranges);
        }
    }

    private void add(long epoch, long from, long to, List<Range> ranges) {
        for (long at = from; at < to;) {
            int gap = gap(at);
            long end = Math.min(to, gap + 1 < before.length ? before[gap + 1] : count);
            long shift = begins[gap] - before[gap];
            ranges.add(new Range(epoch, at + shift, end + shift));
            at = end;
        }
    }
}
