package io.gds4j.benchmarks;

import io.gds4j.compat.plan.TransferPlan;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** What cutting a request costs: of every read and write, however small. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class TransferPlanBenchmark {
    private static final long PIECE = 4L << 20;
    private static final long BLOCK = 4096;
    private static final long ODD = 12_345;

    @Param({"4096", "1048576", "1073741824"})
    private long size;

    private final TransferPlan plan = new TransferPlan();

    /** Aligned, through the page cache. */
    @Benchmark
    public long buffered() {
        return walk(plan.buffered(0, size, PIECE));
    }

    /** Unaligned, whole blocks past the page cache. */
    @Benchmark
    public long direct() {
        return walk(plan.direct(ODD, size, PIECE, BLOCK, Long.MAX_VALUE));
    }

    private static long walk(TransferPlan plan) {
        long sum = 0;
        long pieces = plan.pieces();
        for (long piece = 0; piece < pieces; piece++) {
            long end = plan.pieceEnd(piece);
            long position = plan.pieceStart(piece);
            while (position < end) {
                sum += plan.isDirect(position) ? 1 : 2;
                position = Math.min(end, plan.runEnd(position));
            }
        }
        return sum;
    }
}
