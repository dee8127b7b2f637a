/**
 * The order of CUDA streams and host streams: reads and writes between the other work of a stream, served by worker threads. The
 * movers, which move the bytes, belong to the backend.
 */
@NullMarked
package io.gds4j.engine.stream;

import org.jspecify.annotations.NullMarked;

// Tested by
//   CudaStreamOrderTest: CudaStreamTurns
//   CudaStreamTest: StreamSteps
//   CudaStreamCopiesTest: ToldCopies
