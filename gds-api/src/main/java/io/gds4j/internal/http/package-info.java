/** A client of HTTP that a library of the system has. Shared with our modules only. */
@NullMarked
package io.gds4j.internal.http;

import org.jspecify.annotations.NullMarked;
