package io.gds4j;

import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * Begins events for Java Flight Recorder, if the process has ever recorded: merely initialising an event class sets the
 * recorder up, 50 ms on the way of a program's first request.
 */
final class FlightEvents {
    /**
     * Tell before each request whether a recording is on; made once, because a request allocates nothing. They are apart from
     * the event classes, because the recorder initialises a class's parents while it loads the class. Only this class makes
     * events, so that a process that never records loads none of the event classes.
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
