/**
 * NVIDIA's management library (NVML) through the Java FFM API: properties of a GPU without a CUDA context, above all BAR1.
 */
@NullMarked
package io.gds4j.ffi.nvml;

import org.jspecify.annotations.NullMarked;
