/**
 * cuFile's statistics, counted by gds4j for both backends: calls, bytes, times, sizes, batches, GPUs and paths. Counting takes no
 * lock. At level 0 only the bytes by path are counted.
 */
@NullMarked
package io.gds4j.engine.statistics;

import org.jspecify.annotations.NullMarked;

// Tested by
//   FakeGpuContractTest: GpuCounters
//   HostContractTest: CountedControls
