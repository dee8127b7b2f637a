/**
 * Converts memory, pointers and streams between gds4j and JCuda, and loads JCuda's native libraries safely. No other package of gds4j
 * refers to JCuda.
 */
@NullMarked
package io.gds4j.jcuda;

import org.jspecify.annotations.NullMarked;
