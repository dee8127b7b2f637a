/**
 * Serves one driver with two backends: the first one serves each file that it takes, the second one serves the others. {@code io.gds4j} makes a {@link io.gds4j.internal.routing.RoutingBackend} when a second backend is available.
 */
@NullMarked
package io.gds4j.internal.routing;

import org.jspecify.annotations.NullMarked;

// Tested by
//   RoutingBackendTest: BackendPair, RoutedBatch, RoutedFile, RoutedFiles, RoutedTransfers
//   ForwardingBackendTest: RoutedControls
