package io.gds4j.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collection;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

@Tag("slow")
class BenchmarksTest {
    /** Others on this machine may measure at the same time: they keep each other out, which is nothing to us. */
    @BeforeAll
    static void takeNoLock() {
        System.setProperty("jmh.ignoreLock", "true");
    }

    @Test
    void everyBenchmarkRuns() throws RunnerException {
        Collection<RunResult> results = new Runner(
                new OptionsBuilder()
                        .include("io\\.gds4j\\..*Benchmark")
                        .param("size", "4096")
                        .forks(0)
                        .warmupIterations(0)
                        .measurementIterations(1)
                        .measurementTime(TimeValue.milliseconds(5))
                        .shouldFailOnError(true)
                        .verbosity(VerboseMode.SILENT)
                        .build())
                .run();

        List<String> names = results.stream().map(result -> result.getPrimaryResult().getLabel()).toList();
        assertThat(names).contains("buffered", "direct", "alone", "piece", "together", "preadAddress", "cachedPages",
                "windowHeld", "batchOf128",
                "doNothing", "handleRead");
        assertThat(results).allSatisfy(result -> assertThat(result.getPrimaryResult().getScore()).isPositive());
    }
}
