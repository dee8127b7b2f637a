package io.gds4j.engine.staging;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.posix.FfmPosix;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/** What a slab costs that is there already: taken and given back by one thread, and by as many as there are processors. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class BouncePoolBenchmark {
    private static final long SMALL = 4096;

    private BouncePool pool;

    /** Made before the measurement. */
    @Setup
    public void open() {
        pool = new BouncePool(FfmPosix.instance(), CuFileConfig.defaults());
    }

    /** Unmapped after it. */
    @TearDown
    public void close() {
        pool.close();
    }

    /** One thread. */
    @Benchmark
    public long alone() {
        return take(SMALL);
    }

    /** The largest that a piece needs. */
    @Benchmark
    public long piece() {
        return take(pool.pieceSize());
    }

    /** All processors at once. */
    @Benchmark
    @Threads(Threads.MAX)
    public long together() {
        return take(SMALL);
    }

    private long take(long bytes) {
        Slab slab = pool.acquire(bytes, false);
        long address = slab.address();
        pool.release(slab);
        return address;
    }
}
