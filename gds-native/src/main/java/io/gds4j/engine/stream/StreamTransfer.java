package io.gds4j.engine.stream;

import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import java.util.function.LongConsumer;

/**
 * How a backend moves the bytes of one stream operation.
 *
 * @param <L> what its threads work with
 */
public interface StreamTransfer<L> {
    /** Bytes that a stream copies at once, of an operation that needs shared slabs: the kernel takes 92 microseconds for them. */
    long PART_BYTES = 4 << 20;

    /** The operation begins to use its file, which must stay until {@link #end}. */
    void begin();

    /**
     * Moves bytes.
     *
     * @param request the operation with all that was bound late
     * @return bytes moved
     * @throws io.gds4j.error.CuFileException whose code the program finds in the result cell
     */
    long move(L lane, BatchRequest request);

    /**
     * True if memory of a stream's own CUDA context is reached by way of host memory: then {@link #movePart} moves bytes between
     * slabs and the file, while the stream itself copies between slabs and this memory.
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

    /**
     * Moves a part of a staged operation.
     *
     * @param part its memory is a slab
     * @param operation bytes of all parts
     * @param arrived of a read: may be told, by any thread and in any order, how many bytes are in the slab already, from the first
     *        on and without a gap; not after this method has returned
     * @return bytes moved; of a read less than asked at the end of the file
     * @throws io.gds4j.error.CuFileException whose code the program finds in the result cell
     */
    default long movePart(L lane, BatchRequest part, long operation, LongConsumer arrived) {
        return move(lane, part);
    }

    /** The operation is over or was never queued. */
    void end();

    /** Tells of a failure that no result can tell. */
    void log(String message, RuntimeException failure);
}
