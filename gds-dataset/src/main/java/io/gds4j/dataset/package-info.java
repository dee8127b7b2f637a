/**
 * Reads the records of a data set again and again into GPU or host memory. {@link io.gds4j.dataset.RecordLoader} delivers batches,
 * {@link io.gds4j.dataset.RecordOrder} decides their order, {@link io.gds4j.dataset.source.RecordSource} says where records lie.
 * The package uses the public API of gds4j only; all records move through a {@link io.gds4j.CuFileDriver}.
 */
@NullMarked
package io.gds4j.dataset;

import org.jspecify.annotations.NullMarked;

// Tested by
//   LoaderStateTest: DoneRecords, LeftRecords, LoaderStateText, RecordPlan
//   RecordLoaderObservationTest: LoaderCounters
//   RecordLoaderTest: BatchBuffer, BatchPlanner, BatchRing, RecordMemory, RecordReads
