/**
 * cuFile for Java. Open a {@link io.gds4j.CuFileDriver}, register files and memory with it, then read and write. This package
 * checks arguments, tracks lifetimes and converts error codes into exceptions; the backends of {@code io.gds4j.spi} move the
 * bytes.
 */
@NullMarked
package io.gds4j;

import org.jspecify.annotations.NullMarked;

// Tested by
//   HandleArgumentsTest: CuFileHandle
//   CuFileBatchTest: BulkTransfer
//   DriverLifecycleTest: Session
//   InFlightTest: MemoryUse
//   MemoryArgumentsTest: HeapCopies
//   HandleChannelTest: HandleChannel
//   ScatterCheckTest: ScatterCheck
//   StatsCommandTest: StatisticsBean
//   CheckCommandTest: Examination
//   RangesCallTest: RangeTargets
//   ScatterContract: RangesCall, RequestCall
//   StreamContract: StreamReport
