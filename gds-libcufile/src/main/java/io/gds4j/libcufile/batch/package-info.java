/**
 * Batches. Entries that the library handles correctly go to its own batches; threads of the session move all others as single
 * transfers.
 */
@NullMarked
package io.gds4j.libcufile.batch;

import org.jspecify.annotations.NullMarked;

// Tested by
//   LibraryBatchTest: SessionBatches
