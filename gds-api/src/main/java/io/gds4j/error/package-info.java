/**
 * cuFile's error codes and the exceptions that carry them. The lowest package of the API: all packages may use it, and it
 * uses no other package of gds4j.
 */
@NullMarked
package io.gds4j.error;

import org.jspecify.annotations.NullMarked;
