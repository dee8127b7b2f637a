/**
 * Between gds4j and JCuda: memory, pointers and streams of one as those of the other, and JCuda's native libraries loaded
 * safely. The only place of gds4j that names JCuda, which is an optional dependency: a program that does not use it needs
 * none of its jars.
 */
@NullMarked
package io.gds4j.jcuda;

import org.jspecify.annotations.NullMarked;
