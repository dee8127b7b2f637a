/**
 * cuFile's statistics as gds4j counts them itself, for every backend: calls, bytes, times, sizes, batches, GPUs and the paths that
 * bytes took. Lock-free; nothing is counted at level 0 but bytes by path. For gds4j's own modules.
 */
@NullMarked
package io.gds4j.engine.statistics;

import org.jspecify.annotations.NullMarked;
