/** Staging memory between files and GPUs, and copies through it. Both backends use it. */
@NullMarked
package io.gds4j.engine.staging;

import org.jspecify.annotations.NullMarked;

// Tested by
//   BouncePoolTest: SlabClasses
//   CopySlotsTest: CopyLane, ManyContexts, OneContext
//   GatheredReadsTest: GatherCopy
//   FragmentsTest: FragmentCopies
