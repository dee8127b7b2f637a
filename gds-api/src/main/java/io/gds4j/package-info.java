/**
 * cuFile for Java: open a {@link io.gds4j.CuFileDriver}, register files and memory with it, read and write. This package
 * checks every argument, owns every lifetime and turns every code into an exception; backends behind
 * {@code io.gds4j.spi} move the bytes.
 */
@NullMarked
package io.gds4j;

import org.jspecify.annotations.NullMarked;
