/**
 * The CUDA driver through the Java FFM API. All CUDA calls of gds4j go through {@link io.gds4j.ffi.cuda.Cuda}; tests replace it.
 * Detection, contexts and pointers build on it.
 */
@NullMarked
package io.gds4j.ffi.cuda;

import org.jspecify.annotations.NullMarked;
