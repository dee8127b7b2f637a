/**
 * ONNX models: a protobuf message whose initializers are tensors, in the file or in files beside it. Reads the few fields that say
 * where the bytes are, and skips everything else.
 */
@NullMarked
package io.gds4j.loader.format.onnx;

import org.jspecify.annotations.NullMarked;

// Tested by
//   OnnxFormatTest: OnnxModel, ProtoInput
