package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.random.Campaign;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * 8 threads submit batches, use streams, make asynchronous calls, cancel and close at random. The test compares every byte with
 * the file. At the end no thread, descriptor, mapping or CUDA object is left. {@code -Dgds4j.property.seconds} sets the length of
 * the class, {@code -Dgds4j.property.seed} repeats a run.
 */
class SoakTest {
    private static final int THREADS = 6;
    private static final int VIRTUAL_THREADS = 2;
    private static final Duration LENGTH = Duration.ofSeconds(Long.getLong("gds4j.property.seconds", 1));
    private static final Duration LONG = Duration.ofSeconds(20);
    private static final int KINDS = 2;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void randomWorkMovesTheRightBytesAndLeavesNothing(MemoryKind kind) throws Exception {
        Set<Thread> before = engineThreads();
        CuFileConfig config =
                CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, 3L).build();
        try (FakeGpu gpu = new FakeGpu()) {
            Campaign campaign = new Campaign("soak", gpu::backend, List.of(folder), List.of(kind))
                    .threads(THREADS, VIRTUAL_THREADS)
                    .config(config);
            if (kind.isCuda()) {
                campaign.gpu(gpu.program());
            }
            if (LENGTH.compareTo(LONG) >= 0) {
                campaign.scenarios();
            }
            campaign.run(LENGTH.dividedBy(KINDS));
        }
        assertThat(leftSince(before)).as("threads left").isEmpty();
    }

    /** Returns new threads of the engine that do not end within a minute. */
    static Set<Thread> leftSince(Set<Thread> before) throws InterruptedException {
        Set<Thread> left = engineThreads();
        left.removeAll(before);
        for (Thread thread : left) {
            thread.join(Duration.ofMinutes(1));
        }
        left.removeIf(thread -> !thread.isAlive());
        return left;
    }

    /** Returns the threads of the engine. Threads of asynchronous calls end after their driver has closed. */
    static Set<Thread> engineThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("gds4j-") && !thread.getName().contains("exit"))
                .collect(Collectors.toCollection(HashSet::new));
    }
}
