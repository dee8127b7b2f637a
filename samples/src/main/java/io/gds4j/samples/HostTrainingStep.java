package io.gds4j.samples;

import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Sums the words on the host. */
final class HostTrainingStep implements TrainingStep {
    private static final int ROUNDS = 4;

    private long sum;
    private long nanos;

    @Override
    public void work(MemoryRange record) {
        long start = System.nanoTime();
        MemorySegment words = record.segment().orElseThrow();
        long total = 0;
        for (int round = 0; round < ROUNDS; round++) {
            for (long i = 0; i < words.byteSize(); i += Integer.BYTES) {
                total += Integer.toUnsignedLong(words.get(ValueLayout.JAVA_INT, i));
            }
        }
        sum += total;
        nanos += System.nanoTime() - start;
    }

    @Override
    public int rounds() {
        return ROUNDS;
    }

    @Override
    public long sum() {
        return sum;
    }

    @Override
    public double seconds() {
        return nanos / 1e9;
    }

    @Override
    public void reset() {
        sum = 0;
        nanos = 0;
    }

    @Override
    public void close() {
        // holds no resources
    }
}
