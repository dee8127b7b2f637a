/**
 * Batches: a submission's entries wait in a queue, and threads of the session run them. Small entries are coalesced into one read
 * or go through an io_uring. Every other entry goes to the request executor.
 */
@NullMarked
package io.gds4j.compat.batch;

import org.jspecify.annotations.NullMarked;

// Tested by
//   SmallBatchesTest: CoalescedDeviceReads, CompatBatches, CompatEntryRunner
