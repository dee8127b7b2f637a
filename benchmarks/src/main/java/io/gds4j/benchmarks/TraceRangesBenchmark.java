package io.gds4j.benchmarks;

import io.gds4j.spi.TraceRanges;
import io.gds4j.spi.TracedOperation;
import io.gds4j.statistics.IoPath;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** What the ranges of a profiler cost a request: without a profiler, the difference of the two methods. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class TraceRangesBenchmark {
    private long bytes = 4096;

    /** The request alone. */
    @Benchmark
    public long withoutRange() {
        return bytes++;
    }

    /** The request within a range, as the handles do it. */
    @Benchmark
    public long withRange() {
        long range = TraceRanges.ACTIVE ? TraceRanges.begin(TracedOperation.READ, IoPath.COMPAT_DIRECT, bytes) : 0;
        try {
            return bytes++;
        } finally {
            if (TraceRanges.ACTIVE) {
                TraceRanges.end(range);
            }
        }
    }
}
