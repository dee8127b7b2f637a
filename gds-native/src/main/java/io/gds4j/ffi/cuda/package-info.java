/**
 * The CUDA driver through the Java FFM API: the seam behind which all CUDA calls of gds4j stand, and what is built
 * directly upon it: detection, contexts, memory. For gds4j's own modules.
 */
@NullMarked
package io.gds4j.ffi.cuda;

import org.jspecify.annotations.NullMarked;
