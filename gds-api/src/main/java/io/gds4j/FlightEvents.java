package io.gds4j;

import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * Begins events for Java Flight Recorder, if the process has ever recorded. Merely initialising an event class sets the
 * recorder up, 50 ms on the way of a program's first request.
 */
final class FlightEvents {
    private FlightEvents() {
    }

    /** Begins the event of a read or write; null unless somebody records. */
    static @Nullable TransferEvent transfer(boolean write) {
        return FlightRecorder.isInitialized() ? TransferEvent.begin(write) : null;
    }

    /** Begins the event of a batch entry; null unless somebody records. */
    static @Nullable BatchEntryEvent batchEntry() {
        return FlightRecorder.isInitialized() ? BatchEntryEvent.beginEntry() : null;
    }
}
