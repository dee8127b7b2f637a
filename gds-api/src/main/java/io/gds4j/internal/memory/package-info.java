/**
 * Opens what is package-private in {@code io.gds4j.memory} to gds4j's own modules, and to no program.
 */
@NullMarked
package io.gds4j.internal.memory;

import org.jspecify.annotations.NullMarked;
