/**
 * Flight Recorder events of requests and their pieces. Off unless a recording asks for them. Only gds4j's
 * own modules may use them.
 */
@NullMarked
package io.gds4j.internal.trace;

import org.jspecify.annotations.NullMarked;

// Tested by
//   FlightRecordingTest: FlightEvents
