package io.gds4j.samples;

import io.gds4j.memory.MemoryRange;

/** The work of a training loop on a record: sums its 32-bit words several times, to take some time. */
interface TrainingStep extends AutoCloseable {
    /** Processes a record; the work is done on return. */
    void work(MemoryRange record) throws InterruptedException;

    /** Returns how often each word is added. */
    int rounds();

    /** Returns the sum of the words of all records since creation or {@link #reset}, modulo 2^64. */
    long sum();

    /** Returns the seconds spent in {@link #work} since then. */
    double seconds();

    /** Sets sum and seconds to zero. */
    void reset();

    @Override
    void close();
}
