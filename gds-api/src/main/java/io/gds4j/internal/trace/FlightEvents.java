package io.gds4j.internal.trace;

import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.Operation;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
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
        static final Read READ = new Read();
        static final Write WRITE = new Write();
        static final BatchEntry BATCH_ENTRY = new BatchEntry();
        static final PieceRead PIECE_READ = new PieceRead();
        static final PieceCopy PIECE_COPY = new PieceCopy();
        static final PieceWait PIECE_WAIT = new PieceWait();

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

        static @Nullable Transfer transfer(Operation operation) {
            return operation.isWrite() ? begun(WRITE, Write::new) : begun(READ, Read::new);
        }

        static @Nullable BatchEntry batchEntry() {
            return begun(BATCH_ENTRY, BatchEntry::new);
        }

        static @Nullable PieceRead pieceRead() {
            return begun(PIECE_READ, PieceRead::new);
        }

        static @Nullable PieceCopy pieceCopy() {
            return begun(PIECE_COPY, PieceCopy::new);
        }

        static @Nullable PieceWait pieceWait() {
            return begun(PIECE_WAIT, PieceWait::new);
        }
    }

    private FlightEvents() {
    }

    /** Begins the event of a read or write; null unless a recording wants it. */
    public static @Nullable Transfer transfer(Operation operation) {
        return FlightRecorder.isInitialized() ? Prototypes.transfer(operation) : null;
    }

    /** Begins the event of a batch entry; null unless a recording wants it. */
    public static @Nullable BatchEntry batchEntry() {
        return FlightRecorder.isInitialized() ? Prototypes.batchEntry() : null;
    }

    /** Begins the event of a piece that a thread reads from or writes to a file; null unless a recording wants it. */
    public static @Nullable PieceRead pieceRead() {
        return FlightRecorder.isInitialized() ? Prototypes.pieceRead() : null;
    }

    /** Begins the event of a copy to or from a GPU; null unless a recording wants it. */
    public static @Nullable PieceCopy pieceCopy() {
        return FlightRecorder.isInitialized() ? Prototypes.pieceCopy() : null;
    }

    /** Begins the event of a thread that waits; null unless a recording wants it. */
    public static @Nullable PieceWait pieceWait() {
        return FlightRecorder.isInitialized() ? Prototypes.pieceWait() : null;
    }

    /** Flight Recorder event of a batch entry, from submission until a caller takes its completion. */
    @Name("gds4j.Batch")
    @Label("GPUDirect Storage Batch Entry")
    @Description("An entry of a batch, from cuFileBatchIOSubmit until its completion is taken")
    @Category({"gds4j"})
    @StackTrace(false)
    public static final class BatchEntry extends Event {
        @Label("File")
        @Nullable
        String path;

        @Label("I/O path")
        @Nullable
        String ioPath;

        @Label("Offset in the file")
        @DataAmount
        long offset;

        @Label("Bytes moved")
        @DataAmount
        long bytes;

        @Label("Write")
        boolean write;

        @Label("State")
        @Nullable
        String status;

        BatchEntry() {
        }

        /** Ends the event and records it if it reaches the recording's threshold. */
        public void record(BackendFile file, Operation operation, long fileOffset, BatchStatus outcome, long result) {
            end();
            if (shouldCommit()) {
                path = file.path().map(Object::toString).orElse(null);
                ioPath = file.ioPath().path().name();
                offset = fileOffset;
                bytes = Math.max(0, result);
                write = operation.isWrite();
                status = outcome.name();
                commit();
            }
        }
    }

    /** Flight Recorder event of a copy between slabs and a GPU, from its start until a thread sees that it is complete. */
    @Name("gds4j.PieceCopy")
    @Label("Piece Copied")
    @Description("A copy between staging memory and a GPU, from its start until a thread sees that it is complete")
    @Category({"gds4j"})
    @Enabled(false)
    @StackTrace(false)
    public static final class PieceCopy extends Event {
        @Label("GPU, -1 for one whose context the program made")
        int gpu;

        @Label("Bytes")
        @DataAmount
        long bytes;

        PieceCopy() {
        }

        /** Ends the event and records it. */
        public void record(int ofGpu, long copied) {
            end();
            if (shouldCommit()) {
                gpu = ofGpu;
                bytes = copied;
                commit();
            }
        }
    }

    /** Flight Recorder event of a piece that a thread reads from a file, or writes to one. */
    @Name("gds4j.PieceRead")
    @Label("Piece Read or Written")
    @Description("A part of a request that one thread reads from a file or writes to it")
    @Category({"gds4j"})
    @Enabled(false)
    @StackTrace(false)
    public static final class PieceRead extends Event {
        @Label("File")
        @Nullable
        String path;

        @Label("Write")
        boolean write;

        @Label("Offset in the file")
        @DataAmount
        long offset;

        @Label("Bytes moved")
        @DataAmount
        long bytes;

        PieceRead() {
        }

        /** Ends the event and records it. */
        public void record(Optional<Path> file, Operation operation, long from, long moved) {
            end();
            if (shouldCommit()) {
                path = file.map(Object::toString).orElse(null);
                write = operation.isWrite();
                offset = from;
                bytes = moved;
                commit();
            }
        }
    }

    /** Flight Recorder event of a thread that waits for a copy, or for staging memory, before it can move its next piece. */
    @Name("gds4j.PieceWait")
    @Label("Piece Waited For")
    @Description("The wait of a thread for a copy, or for staging memory, before it can move its next piece")
    @Category({"gds4j"})
    @Enabled(false)
    @StackTrace(false)
    @Threshold("10 us")
    public static final class PieceWait extends Event {
        /** Waits for a copy to or from a GPU. */
        public static final String COPY = "copy";
        /** Waits for staging memory and a stream of copies. */
        public static final String SLAB = "slab";

        @Label("GPU, -1 if unknown")
        int gpu;

        @Label("Waits for")
        @Nullable
        String what;

        PieceWait() {
        }

        /** Ends the event and records it if it reaches the recording's threshold. */
        public void record(int ofGpu, String waitedFor) {
            end();
            if (shouldCommit()) {
                gpu = ofGpu;
                what = waitedFor;
                commit();
            }
        }
    }

    /** Flight Recorder event of a read from a file into memory. */
    @Name("gds4j.Read")
    @Label("GPUDirect Storage Read")
    @Description("A read from a file into memory (cuFileRead)")
    @Category({"gds4j"})
    @StackTrace(false)
    static final class Read extends Transfer {
    }

    /** Flight Recorder event of a write from memory to a file. */
    @Name("gds4j.Write")
    @Label("GPUDirect Storage Write")
    @Description("A write from memory to a file (cuFileWrite)")
    @Category({"gds4j"})
    @StackTrace(false)
    static final class Write extends Transfer {
    }

    /** Flight Recorder event of a read or a write; exists only while a recording is on. */
    public abstract static sealed class Transfer extends Event {
        @Label("File")
        @Nullable
        String path;

        @Label("I/O path")
        @Nullable
        String ioPath;

        @Label("Offset in the file")
        @DataAmount
        long offset;

        @Label("Bytes asked for")
        @DataAmount
        long size;

        @Label("Bytes moved")
        @DataAmount
        long bytes;

        Transfer() {
        }

        /** Ends the event and records it if it reaches the recording's threshold. */
        public final void record(BackendFile file, long from, long asked, long moved) {
            end();
            if (shouldCommit()) {
                path = file.path().map(Object::toString).orElse(null);
                ioPath = file.ioPath().path().name();
                offset = from;
                size = asked;
                bytes = moved;
                commit();
            }
        }
    }
}
