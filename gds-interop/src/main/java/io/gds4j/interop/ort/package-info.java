/**
 * Tensors as weights of ONNX Runtime.
 *
 * @since 0.1
 */
@NullMarked
package io.gds4j.interop.ort;

import org.jspecify.annotations.NullMarked;
