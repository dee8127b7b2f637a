package io.gds4j.samples;

import io.gds4j.memory.MemoryRange;

/** A stream of work: a CUDA stream, or a host stream on machines without a GPU. */
interface SampleStream extends AutoCloseable {
    /** {@return the stream's address for {@link io.gds4j.CuFileDriver#stream}} */
    long address();

    /**
     * Queues work that adds 1 to each byte: a kernel on a GPU.
     *
     * @param range GPU memory for a CUDA stream, host memory for a host stream
     */
    void increment(MemoryRange range);

    /**
     * Waits until all queued work is done.
     *
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    void synchronize() throws InterruptedException;

    @Override
    void close();
}
