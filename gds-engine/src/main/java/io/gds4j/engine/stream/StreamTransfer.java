package io.gds4j.engine.stream;

import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;

/** What a backend knows of one stream operation; a {@link StreamMover} moves its bytes. */
public interface StreamTransfer {
    /** Bytes that a stream copies at once, of a write that needs shared slabs. The kernel takes 92 microseconds for them. */
    long PART_BYTES = 4 << 20;

    /** The operation begins to use its file, which must stay until {@link #end}. */
    void begin();

    /**
     * Returns true if memory of a stream's own CUDA context is reached through host memory. Then {@link StreamMover#movePart} moves
     * bytes between slabs and the file, and the stream itself copies between slabs and this memory.
     */
    default boolean isStaged(MemoryRange memory) {
        return false;
    }

    /**
     * Checks a staged operation as a whole, before its first part is moved.
     *
     * @throws io.gds4j.error.CuFileException whose code the program finds in the result cell
     */
    default void check(BatchRequest request) {
        // Parts are checked as they are moved.
    }

    /** The operation is over or was never queued. */
    void end();

    /** Logs a failure that no result can report. */
    void log(String message, RuntimeException failure);
}
