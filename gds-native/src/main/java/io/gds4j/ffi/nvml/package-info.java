/**
 * NVIDIA's management library through the Java FFM API: what the driver tells of a GPU without a CUDA context, BAR1 above
 * all. For gds4j's own modules.
 */
@NullMarked
package io.gds4j.ffi.nvml;

import org.jspecify.annotations.NullMarked;
