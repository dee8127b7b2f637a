/**
 * Gives gds4j's own modules access to package-private methods of {@code io.gds4j.memory}; programs have none.
 */
@NullMarked
package io.gds4j.internal.memory;

import org.jspecify.annotations.NullMarked;
