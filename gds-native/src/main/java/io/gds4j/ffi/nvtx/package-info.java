/**
 * NVTX without a library of NVIDIA's: since version 3 NVTX is headers, which load the profiler's library. This package does the
 * same in Java.
 */
@NullMarked
package io.gds4j.ffi.nvtx;

import org.jspecify.annotations.NullMarked;
