/**
 * Who delivers: the callers, with the objects that they reuse, and the workers that help them.
 */
@NullMarked
package io.gds4j.compat.work;

import org.jspecify.annotations.NullMarked;

// Tested by
//   FakeManyGpusTest: WorkerPools
