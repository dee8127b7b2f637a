package io.gds4j.internal.trace;

import io.gds4j.spi.Operation;
import java.util.function.Supplier;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import org.jspecify.annotations.Nullable;

/**
 * Begins Flight Recorder events if a recording asks for them. In a process that has never recorded it loads no event class: that would start
 * the recorder, which adds 50 ms to a program's first request.
 */
public final class FlightEvents {
    /**
     * One event of each type, which tells whether a recording wants it. They are created once, because requests allocate nothing. They are not in
     * the event classes, because the recorder initialises a class's parents while it loads it.
     */
    private static final class Prototypes {
        static final ReadEvent READ = new ReadEvent();
        static final WriteEvent WRITE = new WriteEvent();
        static final BatchEntryEvent BATCH_ENTRY = new BatchEntryEvent();
        static final PieceReadEvent PIECE_READ = new PieceReadEvent();
        static final PieceCopyEvent PIECE_COPY = new PieceCopyEvent();
        static final PieceWaitEvent PIECE_WAIT = new PieceWaitEvent();

        private Prototypes() {
        }

        private static <E extends Event> @Nullable E begun(E prototype, Supplier<E> another) {
            if (!prototype.isEnabled()) {
                return null;
            }
            E event = another.get();
            event.begin();
            return event;
        }

        static @Nullable TransferEvent transfer(Operation operation) {
            return operation.isWrite() ? begun(WRITE, WriteEvent::new) : begun(READ, ReadEvent::new);
        }

        static @Nullable BatchEntryEvent batchEntry() {
            return begun(BATCH_ENTRY, BatchEntryEvent::new);
        }

        static @Nullable PieceReadEvent pieceRead() {
            return begun(PIECE_READ, PieceReadEvent::new);
        }

        static @Nullable PieceCopyEvent pieceCopy() {
            return begun(PIECE_COPY, PieceCopyEvent::new);
        }

        static @Nullable PieceWaitEvent pieceWait() {
            return begun(PIECE_WAIT, PieceWaitEvent::new);
        }
    }

    private FlightEvents() {
    }

    /** Begins the event of a read or write; null unless a recording wants it. */
    public static @Nullable TransferEvent transfer(Operation operation) {
        return FlightRecorder.isInitialized() ? Prototypes.transfer(operation) : null;
    }

    /** Begins the event of a batch entry; null unless a recording wants it. */
    public static @Nullable BatchEntryEvent batchEntry() {
        return FlightRecorder.isInitialized() ? Prototypes.batchEntry() : null;
    }

    /** Begins the event of a piece that a thread reads from or writes to a file; null unless a recording wants it. */
    public static @Nullable PieceReadEvent pieceRead() {
        return FlightRecorder.isInitialized() ? Prototypes.pieceRead() : null;
    }

    /** Begins the event of a copy to or from a GPU; null unless a recording wants it. */
    public static @Nullable PieceCopyEvent pieceCopy() {
        return FlightRecorder.isInitialized() ? Prototypes.pieceCopy() : null;
    }

    /** Begins the event of a thread that waits; null unless a recording wants it. */
    public static @Nullable PieceWaitEvent pieceWait() {
        return FlightRecorder.isInitialized() ? Prototypes.pieceWait() : null;
    }
}
