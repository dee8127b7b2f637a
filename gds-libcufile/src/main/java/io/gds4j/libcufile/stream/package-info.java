/** Stream operations: gds4j keeps the order of the streams, the library moves the bytes without waiting for other streams. */
@NullMarked
package io.gds4j.libcufile.stream;

import org.jspecify.annotations.NullMarked;

// Tested by
//   SessionStreamsTest: StagedTransfers, StagingPool
