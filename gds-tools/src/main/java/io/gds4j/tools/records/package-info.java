/** Runs {@code gds records}: the records of a data set through the data loader, counted and timed. */
@NullMarked
package io.gds4j.tools.records;

import org.jspecify.annotations.NullMarked;

// Tested by
//   RecordsCommandTest: FirstBytes, RecordSums, RecordsRun
