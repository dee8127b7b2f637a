package io.gds4j;

import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * Begins Flight Recorder events if the process has ever recorded. Otherwise it loads no event class: that would start the
 * recorder, which adds 50 ms to a program's first request.
 */
final class FlightEvents {
    /**
     * One event of each type, which tells before each request whether a recording is on. They are created once, because requests
     * allocate nothing. They are not in the event classes, because the recorder initialises a class's parents while it loads it.
     */
    private static final class Prototypes {
        static final ReadEvent READ = new ReadEvent();
        static final WriteEvent WRITE = new WriteEvent();
        static final BatchEntryEvent BATCH_ENTRY = new BatchEntryEvent();

        private Prototypes() {
        }

        static @Nullable TransferEvent transfer(boolean write) {
            if (write ? !WRITE.isEnabled() : !READ.isEnabled()) {
                return null;
            }
            TransferEvent event = write ? new WriteEvent() : new ReadEvent();
            event.begin();
            return event;
        }

        static @Nullable BatchEntryEvent batchEntry() {
            if (!BATCH_ENTRY.isEnabled()) {
                return null;
            }
            BatchEntryEvent event = new BatchEntryEvent();
            event.begin();
            return event;
        }
    }

    private FlightEvents() {
    }

    /** Begins the event of a read or write; null unless a recording is on. */
    static @Nullable TransferEvent transfer(boolean write) {
        return FlightRecorder.isInitialized() ? Prototypes.transfer(write) : null;
    }

    /** Begins the event of a batch entry; null unless a recording is on. */
    static @Nullable BatchEntryEvent batchEntry() {
        return FlightRecorder.isInitialized() ? Prototypes.batchEntry() : null;
    }
}
