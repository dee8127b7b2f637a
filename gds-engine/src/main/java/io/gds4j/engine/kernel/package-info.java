/** Kernels that copy between pinned memory and a GPU, and the memory by which processors tell them what to copy. */
@NullMarked
package io.gds4j.engine.kernel;

import org.jspecify.annotations.NullMarked;
