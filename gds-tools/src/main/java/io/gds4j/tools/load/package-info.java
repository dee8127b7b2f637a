/**
 * {@code gds load}: loads a checkpoint into GPU or host memory, measures the speed, and verifies or digests the
 * tensors.
 */
@NullMarked
package io.gds4j.tools.load;

import org.jspecify.annotations.NullMarked;

// Tested by
//   ParallelLoadCommandTest: LoadArguments
//   LoadCommandTest: LoadResult, LoadRun
