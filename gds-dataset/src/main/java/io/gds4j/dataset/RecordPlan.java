package io.gds4j.dataset;

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
    RecordPlan withDone(DoneRecords value) {
        return new RecordPlan(order, records, value, world, batch, remainder);
    }
}
