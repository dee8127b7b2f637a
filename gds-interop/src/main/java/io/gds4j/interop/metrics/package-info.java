/**
 * Meters for Micrometer, and so for Prometheus and others.
 *
 * @since 0.1
 */
@NullMarked
package io.gds4j.interop.metrics;

import org.jspecify.annotations.NullMarked;

// Tested by
//   GdsMetricsTest: FlightMeters
