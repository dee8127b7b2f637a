package io.gds4j.dataset;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;

/**
 * The records that are done: all of the first epochs, and ranges of the orders of later ones.
 *
 * @param epochs number of epochs of which nothing is left to read
 * @param ranges sorted; ranges of one epoch do not touch
 */
record DoneRecords(long epochs, List<Range> ranges) {
    static final DoneRecords NONE = new DoneRecords(0, List.of());

    /** With them a state has about 4 MiB. Each change of the number of ranks adds one range for each rank at most. */
    static final int MAX_RANGES = 1 << 16;

    /** How many epochs may have ranges: all between the slowest and the fastest rank. */
    static final int MAX_EPOCHS = 1 << 10;

    /** Indexes {@code begin} to {@code end - 1} of the order of an epoch. */
    record Range(long epoch, long begin, long end) {
    }

    /**
     * Returns the union of ranges.
     *
     * @param epochs number of epochs of which nothing is left to read
     * @param some in any order; they may overlap
     * @param records number of records of an epoch
     */
    static DoneRecords of(long epochs, Collection<Range> some, long records) {
        List<Range> sorted = new ArrayList<>(some);
        sorted.removeIf(range -> range.epoch < epochs);
        sorted.sort(Comparator.comparingLong(Range::epoch).thenComparingLong(Range::begin));
        List<Range> union = new ArrayList<>();
        for (Range next : sorted) {
            Range last = union.isEmpty() ? null : union.getLast();
            if (last != null && last.epoch == next.epoch && next.begin <= last.end) {
                union.set(union.size() - 1, new Range(last.epoch, last.begin, Math.max(last.end, next.end)));
            } else {
                union.add(next);
            }
        }
        int whole = 0;
        while (whole < union.size() && union.get(whole).equals(new Range(epochs + whole, 0, records))) {
            whole++;
        }
        DoneRecords done = new DoneRecords(epochs + whole, List.copyOf(union.subList(whole, union.size())));
        if (done.ranges.size() > MAX_RANGES || done.lastEpoch() - done.epochs >= MAX_EPOCHS) {
            throw Failures.invalid("the records that are done are %s ranges of %s epochs, allowed: %s of %s".formatted(
                    done.ranges.size(), done.lastEpoch() - done.epochs + 1, MAX_RANGES, MAX_EPOCHS));
        }
        return done;
    }

    /** Returns the last epoch that has done records; -1 for none. */
    long lastEpoch() {
        return ranges.isEmpty() ? epochs - 1 : ranges.getLast().epoch;
    }

    /** Returns what is left of the epochs {@link #epochs} to {@link #lastEpoch}. All is left of later ones. */
    List<LeftRecords> left(long records) {
        List<LeftRecords> left = new ArrayList<>();
        int from = 0;
        for (long epoch = epochs; epoch <= lastEpoch(); epoch++) {
            int to = from;
            while (to < ranges.size() && ranges.get(to).epoch == epoch) {
                to++;
            }
            left.add(LeftRecords.without(ranges.subList(from, to), records));
            from = to;
        }
        return left;
    }
}
