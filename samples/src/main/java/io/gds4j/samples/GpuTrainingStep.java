package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Sums the words with a kernel. */
final class GpuTrainingStep implements TrainingStep {
    /** A GPU reads its memory much faster than a disk fills it; many rounds take as long as a model's work on a record. */
    private static final int ROUNDS = 1024;

    private final CuFileDriver driver;
    private final GpuStream stream;
    private final MemoryAllocation sum;
    private long nanos;

    GpuTrainingStep(int gpu, CuFileDriver driver) {
        this.driver = driver;
        this.stream = GpuStream.open(gpu);
        this.sum = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, Long.BYTES, gpu);
        reset();
    }

    @Override
    public void work(MemoryRange record) {
        long start = System.nanoTime();
        stream.kernels().sum(record, sum.range(), ROUNDS, stream.stream());
        stream.synchronize();
        nanos += System.nanoTime() - start;
    }

    @Override
    public int rounds() {
        return ROUNDS;
    }

    @Override
    public long sum() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(ValueLayout.JAVA_LONG);
            driver.allocator().copyToHost(sum.range(), host);
            return host.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    @Override
    public double seconds() {
        return nanos / 1e9;
    }

    @Override
    public void reset() {
        driver.allocator().fill(sum.range(), (byte) 0);
        nanos = 0;
    }

    @Override
    public void close() {
        sum.close();
        stream.close();
    }
}
