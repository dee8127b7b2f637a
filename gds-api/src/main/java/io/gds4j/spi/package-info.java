/**
 * The contract between the API and its backends: one method for each cuFile function. For those who write a backend;
 * programs use {@code io.gds4j}.
 */
@NullMarked
package io.gds4j.spi;

import org.jspecify.annotations.NullMarked;
