/** What loading and saving share: threads, one-line messages, and the text of safetensors headers. Not exported. */
@NullMarked
package io.gds4j.loader.internal;

import org.jspecify.annotations.NullMarked;

// Tested by
//   DecodedTensorsTest: FloatDecoder, GgmlBlocks
//   TensorOrderTest: RowMajor
