/**
 * Stream operations: adapts the request executor to the order that {@code io.gds4j.engine.stream} keeps.
 */
@NullMarked
package io.gds4j.compat.stream;

import org.jspecify.annotations.NullMarked;

// Tested by
//   CudaStreamTest: CompatStreams
