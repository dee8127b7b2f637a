/**
 * One small program per I/O pattern and per cuFile topic. {@link io.gds4j.samples.Samples} lists them; {@code gds sample} and
 * the {@code main} methods run them.
 */
@NullMarked
package io.gds4j.samples;

import org.jspecify.annotations.NullMarked;
