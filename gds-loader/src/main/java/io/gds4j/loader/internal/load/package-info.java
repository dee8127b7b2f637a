/**
 * Loads: where slices go, which reads bring them there, and the job that does them, for one rank or several. Not exported; plans
 * and their results call it, and it knows none of them.
 */
@NullMarked
package io.gds4j.loader.internal.load;

import org.jspecify.annotations.NullMarked;

// Tested by
//   LayoutOracleTest: Gathering, PlannedBlocks, PlannedRun
//   LoadTest: LoadJob
//   LoadFailureTest: LoadJob
//   MappedTensorsTest: MappedFiles
