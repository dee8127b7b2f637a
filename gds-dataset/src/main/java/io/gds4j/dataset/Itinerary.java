package io.gds4j.dataset;

import io.gds4j.dataset.DoneRecords.Range;
import java.util.ArrayList;
import java.util.List;

/**
 * The records of one rank over all epochs: a function from positions to record numbers. A position counts the records that the rank has
 * had since its plan began.
 */
final class Itinerary {
    /**
     * What a rank reads of an epoch.
     *
     * @param begin position of the first record
     * @param first number of its first record, counted among the records that are left
     * @param count records of the rank
     */
    private record Part(long epoch, long begin, long first, long count, LeftRecords left) {
    }

    private final RecordOrder order;
    private final long records;
    private final int batch;
    /** A part for each epoch of which records were done when the plan began. */
    private final List<Part> parts = new ArrayList<>();
    /** The first later epoch. All that follow are like it. */
    private final Part last;
    private final long end;

    /**
     * Divides the records among ranks.
     *
     * @param left what is left of the first epochs of the plan
     * @param epochs number of epochs, 1 or more
     * @throws ArithmeticException if padded shares exceed 2^63
     */
    private Itinerary(RecordPlan plan, List<LeftRecords> left, int rank, long epochs) {
        this.order = plan.order();
        this.records = plan.records();
        this.batch = plan.batch();
        long epoch = plan.done().epochs();
        long begin = 0;
        for (LeftRecords some : left) {
            Part part = part(plan, rank, epoch, begin, some);
            parts.add(part);
            epoch++;
            begin = Math.min(begin, Long.MAX_VALUE - part.count) + part.count;
        }
        this.last = part(plan, rank, epoch, begin, LeftRecords.without(List.of(), records));
        this.end = begin(epochs);
    }

    /** Returns the records of a rank. */
    static Itinerary of(RecordPlan plan, int rank, long epochs) {
        return of(plan, rank, epochs, plan.done().left(plan.records()));
    }

    /**
     * Returns the records of a rank.
     *
     * @param left what is left of the epochs that have done records, for several calls
     */
    static Itinerary of(RecordPlan plan, int rank, long epochs, List<LeftRecords> left) {
        try {
            return new Itinerary(plan, left, rank, epochs);
        } catch (ArithmeticException e) {
            throw Failures
                    .invalid("%s records padded for %s ranks exceed 2^63".formatted(plan.records(), plan.world()));
        }
    }

    private static Part part(RecordPlan plan, long rank, long epoch, long begin, LeftRecords left) {
        long size = left.count();
        long world = plan.world();
        long batch = plan.batch();
        return switch (plan.remainder()) {
            case KEEP -> {
                long extra = size % world;
                long first = rank * (size / world) + Math.min(rank, extra);
                yield new Part(epoch, begin, first, size / world + (rank < extra ? 1 : 0), left);
            }
            case DROP -> {
                long count = size / world / batch * batch;
                yield new Part(epoch, begin, rank * count, count, left);
            }
            case PAD -> {
                long most = size / world + (size % world == 0 ? 0 : 1);
                long count = Math.multiplyExact(most / batch + (most % batch == 0 ? 0 : 1), batch);
                long first = Math.multiplyExact(rank, count);
                Math.addExact(first, count);
                yield new Part(epoch, begin, first, count, left);
            }
        };
    }

    /** Records of this rank in an epoch that the plan reads from its begin. */
    long perEpoch() {
        return last.count;
    }

    /** The position after the last record. */
    long end() {
        return end;
    }

    /** Returns the position of an epoch's first record; 2^63-1 if that exceeds it. */
    long begin(long epoch) {
        long later = epoch - last.epoch;
        if (later < 0) {
            return parts.size() + later <= 0 ? 0 : part(epoch).begin;
        }
        return last.count == 0 || later <= (Long.MAX_VALUE - last.begin) / last.count
                ? last.begin + last.count * later
                : Long.MAX_VALUE;
    }

    /** Returns the epoch of the record at a position; 2^63-1 if the rank has no more records. */
    long epoch(long position) {
        Part part = partAt(position);
        if (part != last) {
            return part.epoch;
        }
        return last.count == 0 ? Long.MAX_VALUE : last.epoch + (position - last.begin) / last.count;
    }

    /** Returns the last part that begins at a position or before: those in front of it may be empty. */
    private Part partAt(long position) {
        if (position >= last.begin) {
            return last;
        }
        int low = 0;
        int high = parts.size() - 1;
        while (low < high) {
            int middle = (low + high + 1) >>> 1;
            if (parts.get(middle).begin <= position) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return parts.get(low);
    }

    private Part part(long epoch) {
        return epoch < last.epoch ? parts.get((int) (parts.size() + epoch - last.epoch)) : last;
    }

    /** Returns the number of this rank's batches in an epoch, if none ends early. */
    long batches(long epoch) {
        return Math.ceilDiv(part(epoch).count, (long) batch);
    }

    /** Tells whether this rank and another one of the plan have as many batches in each epoch before one. */
    boolean hasBatchesOf(Itinerary other, long epoch) {
        for (Part part : parts) {
            if (part.epoch < epoch && batches(part.epoch) != other.batches(part.epoch)) {
                return false;
            }
        }
        return last.epoch >= epoch || batches(last.epoch) == other.batches(last.epoch);
    }

    /** Returns the position after some batches of an epoch, or after its last one. */
    long after(long epoch, long batches) {
        return begin(epoch) + Math.min(batches * batch, part(epoch).count);
    }

    /** Returns how many records a batch from this position has: it ends with its epoch. */
    int batchAt(long position) {
        Part part = partAt(position);
        long inEpoch = part.count - (position - part.begin) % part.count;
        return (int) Math.min(Math.min(batch, inEpoch), end - position);
    }

    /** Returns the record at a position, 0 to {@code end - 1}. */
    long record(long position) {
        Part part = partAt(position);
        return record(part, part.first + (position - part.begin) % part.count, epoch(position));
    }

    /** Fills in the records from a position on, all of one epoch. What they share is computed once. */
    void records(long position, int count, long[] numbers) {
        Part part = partAt(position);
        long epoch = epoch(position);
        long first = part.first + (position - part.begin) % part.count;
        for (int i = 0; i < count; i++) {
            numbers[i] = record(part, first + i, epoch);
        }
    }

    private long record(Part part, long number, long epoch) {
        return order.recordAt(part.left.index(number), records, epoch);
    }

    /** Adds what the rank has read of an epoch when it is at a position. */
    void addDone(long position, long epoch, List<Range> ranges) {
        Part part = part(epoch);
        part.left.addRanges(epoch, part.first, Math.clamp(position - begin(epoch), 0, part.count), ranges);
    }
}
