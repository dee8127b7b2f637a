/**
 * Serves one driver with two backends: each file goes to the first one that takes it, and what the first one cannot do goes to
 * the second. {@code io.gds4j} makes a {@link io.gds4j.internal.routing.RoutingBackend} when a second backend is available.
 */
@NullMarked
package io.gds4j.internal.routing;

import org.jspecify.annotations.NullMarked;
