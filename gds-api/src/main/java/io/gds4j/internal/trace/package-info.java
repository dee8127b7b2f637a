/**
 * Flight Recorder events of the pieces of requests, which backends begin and record. Off unless a recording asks for them. Only gds4j's
 * own modules may use them.
 */
@NullMarked
package io.gds4j.internal.trace;

import org.jspecify.annotations.NullMarked;

// Tested by
//   FlightRecordingTest: PieceEvents
