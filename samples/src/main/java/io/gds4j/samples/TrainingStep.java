package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.memory.MemoryRange;

/** What a training loop does with a record; here it adds up its words, again and again, to take some time. */
interface TrainingStep extends AutoCloseable {
    /** On a GPU for GPU memory, else on the host. */
    static TrainingStep open(SampleArguments arguments, CuFileDriver driver) {
        return arguments.kind(driver).isCuda()
                ? new GpuTrainingStep(arguments.gpu(), driver)
                : new HostTrainingStep();
    }

    /** Works on a record; done when it returns. */
    void work(MemoryRange record) throws InterruptedException;

    /** How often a word of a record is added. */
    int rounds();

    /** Sum of the words of all records since the beginning or {@link #reset}, modulo 2^64. */
    long sum();

    /** Time spent in {@link #work} since then. */
    double seconds();

    /** Begins anew. */
    void reset();

    @Override
    void close();
}
