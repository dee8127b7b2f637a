/** {@code gds sample}: runs the programs of the samples module and prints what they measured. */
@NullMarked
package io.gds4j.tools.sample;

import org.jspecify.annotations.NullMarked;
