package io.gds4j.testkit.random;

import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;

/**
 * A stream of the program in a {@link Campaign}: work of its own before, between and behind operations of gds4j. One thread uses it.
 *
 * @since 0.1
 */
public interface ProgramStream extends AutoCloseable {
    /** Returns the stream for {@link io.gds4j.CuFileDriver#stream}. */
    long address();

    /** Returns whether {@link #copy(MemoryRange, MemoryRange)} and {@link #fill} work on memory of this kind. */
    boolean reaches(MemoryRange memory);

    /** Queues a copy between ranges of the same length. */
    void copy(MemoryRange from, MemoryRange to);

    /** Queues a copy between segments of pinned memory, of the same length. */
    void copy(MemorySegment from, MemorySegment to);

    /** Queues to set each byte. */
    void fill(MemoryRange memory, byte value);

    /** Lets the stream wait until the returned action has run, which any thread may run once. */
    Runnable hold();

    /** Waits until all work queued before is done. */
    void synchronize() throws InterruptedException;

    /** Waits for the work and destroys the stream. */
    @Override
    void close();
}
