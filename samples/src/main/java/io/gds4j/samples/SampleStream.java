package io.gds4j.samples;

import io.gds4j.memory.MemoryRange;

/** A stream of work: a CUDA stream, or a stand-in where there is no GPU. */
public interface SampleStream extends AutoCloseable {
    /** {@return what {@link io.gds4j.CuFileDriver#stream} takes for it} */
    long address();

    /**
     * Queues the addition of 1 to each byte: a kernel on a GPU.
     *
     * @param range memory of the kind that the stream is for
     */
    void increment(MemoryRange range);

    /**
     * Waits until all that was queued is done.
     *
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    void synchronize() throws InterruptedException;

    @Override
    void close();
}
