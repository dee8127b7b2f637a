/**
 * cuFile's error codes and the exceptions that carry them. The lowest package of the API: everything may use it, it uses
 * nothing of gds4j.
 */
@NullMarked
package io.gds4j.error;

import org.jspecify.annotations.NullMarked;
