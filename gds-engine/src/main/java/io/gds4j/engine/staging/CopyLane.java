package io.gds4j.engine.staging;

import io.gds4j.engine.kernel.PieceBoard;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What one request at a time copies to a CUDA context with: streams, an event for each of its slabs, and a board. */
final class CopyLane {
    /** Stream of copies by an engine. */
    private final long stream;

    /** Stream of kernels, of the highest priority. */
    private final long kernelStream;

    private final long[] events;
    private final @Nullable PieceBoard board;

    /** True while a kernel of an earlier request may not have begun: it reads the board. */
    private boolean behind;

    /**
     * @param events one for each slot
     * @param board null if there is no kernel
     */
    CopyLane(long stream, long kernelStream, long[] events, @Nullable PieceBoard board) {
        this.stream = stream;
        this.kernelStream = kernelStream;
        this.events = events.clone();
        this.board = board;
    }

    long stream() {
        return stream;
    }

    long kernelStream() {
        return kernelStream;
    }

    long event(int slot) {
        return events[slot];
    }

    PieceBoard board() {
        return Objects.requireNonNull(board, "a kernel is loaded only if there are boards");
    }

    boolean isBehind() {
        return behind;
    }

    void setBehind(boolean value) {
        behind = value;
    }
}
