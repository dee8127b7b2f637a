package io.gds4j.dataset;

/**
 * The records of one rank over all epochs: a function from positions to record numbers. Position {@code epoch * perEpoch + index}
 * is the record at that index of the rank's share.
 */
final class Itinerary {
    private final RecordOrder order;
    private final long records;
    private final long first;
    private final long perEpoch;
    private final long end;

    /**
     * Divides the records among ranks.
     *
     * @param batch records of a batch, 1 or more
     * @param epochs number of epochs, 1 or more
     */
    Itinerary(RecordOrder order, long records, Share share, Remainder remainder, int batch, long epochs) {
        this.order = order;
        this.records = records;
        long rank = share.rank();
        long world = share.world();
        switch (remainder) {
            case KEEP -> {
                long extra = records % world;
                perEpoch = records / world + (rank < extra ? 1 : 0);
                first = rank * (records / world) + Math.min(rank, extra);
            }
            case DROP -> {
                perEpoch = records / world / batch * batch;
                first = rank * perEpoch;
            }
            case PAD -> {
                long most = records / world + (records % world == 0 ? 0 : 1);
                perEpoch = Math.multiplyExact(most / batch + (most % batch == 0 ? 0 : 1), (long) batch);
                first = Math.multiplyExact(rank, perEpoch);
                Math.addExact(first, perEpoch);
            }
            default -> throw new IllegalStateException(remainder.name());
        }
        this.end = begin(epochs);
    }

    /** Records of this rank in an epoch. */
    long perEpoch() {
        return perEpoch;
    }

    /** The position after the last record. */
    long end() {
        return end;
    }

    /** Returns the position of an epoch's first record; 2^63-1 if that exceeds it. */
    long begin(long epoch) {
        return perEpoch == 0 || epoch <= Long.MAX_VALUE / perEpoch ? perEpoch * epoch : Long.MAX_VALUE;
    }

    long epoch(long position) {
        return position / perEpoch;
    }

    /** Returns how many records a batch from this position has: it ends with its epoch. */
    int batchAt(long position, int batch) {
        long inEpoch = perEpoch - position % perEpoch;
        return (int) Math.min(Math.min(batch, inEpoch), end - position);
    }

    /** Returns the record at a position, 0 to {@code end - 1}. */
    long record(long position) {
        return recordAt(first + position % perEpoch, position / perEpoch);
    }

    /** Fills in the records from a position on, all of one epoch. What they share is computed once. */
    void records(long position, int count, long[] numbers) {
        long epoch = epoch(position);
        long index = first + position % perEpoch;
        for (int i = 0; i < count; i++) {
            numbers[i] = recordAt(index + i, epoch);
        }
    }

    private long recordAt(long index, long epoch) {
        return order.recordAt(index < records ? index : index % records, records, epoch);
    }
}
