package io.gds4j.dataset;

import java.util.List;

/**
 * How ranks share the records that are left. Two loaders with equal plans divide the records alike, whatever their readers.
 *
 * @param order order of each epoch
 * @param records number of records of an epoch
 * @param done records that earlier plans have read
 * @param world number of ranks
 * @param batch largest number of records of a batch
 * @param remainder what happens to records that do not fill whole batches on all ranks
 */
record RecordPlan(RecordOrder order, long records, DoneRecords done, int world, int batch, Remainder remainder) {
    Itinerary itinerary(int rank, long epochs) {
        return itinerary(rank, epochs, done.left(records));
    }

    /**
     * Returns the records of a rank.
     *
     * @param left what is left of the epochs that have done records, for several calls
     */
    Itinerary itinerary(int rank, long epochs, List<LeftRecords> left) {
        try {
            return new Itinerary(this, left, rank, epochs);
        } catch (ArithmeticException e) {
            throw Failures.invalid("%s records padded for %s ranks exceed 2^63".formatted(records, world));
        }
    }

    RecordPlan withDone(DoneRecords value) {
        return new RecordPlan(order, records, value, world, batch, remainder);
    }
}
