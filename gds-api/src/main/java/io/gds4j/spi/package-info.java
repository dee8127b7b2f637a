/**
 * The contract between the API and its backends: one method for each cuFile function, in two interfaces. For authors of backends; programs
 * use {@code io.gds4j}.
 */
@NullMarked
package io.gds4j.spi;

import org.jspecify.annotations.NullMarked;

// Tested by
//   NvtxRangesTest: TraceRanges
//   FaultInjectingBackendTest: StagedScatter
//   FakeStreamTest: StreamArguments
