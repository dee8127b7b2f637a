package io.gds4j.internal.trace;

import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * Begins events of pieces if a recording asks for them. In a process that has never recorded it loads no event class: that would start
 * the recorder, which adds 50 ms to a program's first request.
 */
public final class PieceEvents {
    /** One event of each type, which tells whether a recording wants it; created once, because requests allocate nothing. */
    private static final class Prototypes {
        static final PieceReadEvent READ = new PieceReadEvent();
        static final PieceCopyEvent COPY = new PieceCopyEvent();
        static final PieceWaitEvent WAIT = new PieceWaitEvent();

        private Prototypes() {
        }

        static @Nullable PieceReadEvent read() {
            if (!READ.isEnabled()) {
                return null;
            }
            PieceReadEvent event = new PieceReadEvent();
            event.begin();
            return event;
        }

        static @Nullable PieceCopyEvent copy() {
            if (!COPY.isEnabled()) {
                return null;
            }
            PieceCopyEvent event = new PieceCopyEvent();
            event.begin();
            return event;
        }

        static @Nullable PieceWaitEvent waiting() {
            if (!WAIT.isEnabled()) {
                return null;
            }
            PieceWaitEvent event = new PieceWaitEvent();
            event.begin();
            return event;
        }
    }

    private PieceEvents() {
    }

    /** Begins the event of a piece that a thread reads from or writes to a file; null unless a recording wants it. */
    public static @Nullable PieceReadEvent read() {
        return FlightRecorder.isInitialized() ? Prototypes.read() : null;
    }

    /** Begins the event of a copy to or from a GPU; null unless a recording wants it. */
    public static @Nullable PieceCopyEvent copy() {
        return FlightRecorder.isInitialized() ? Prototypes.copy() : null;
    }

    /** Begins the event of a thread that waits; null unless a recording wants it. */
    public static @Nullable PieceWaitEvent waiting() {
        return FlightRecorder.isInitialized() ? Prototypes.waiting() : null;
    }
}
