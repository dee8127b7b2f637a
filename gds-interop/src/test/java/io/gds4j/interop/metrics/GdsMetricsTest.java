package io.gds4j.interop.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.IoPath;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a registry of Micrometer shows. */
class GdsMetricsTest {
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

    @Test
    void registryShowsBytesRequestsAndPercentiles(@TempDir Path folder) throws Exception {
        Path file = Files.write(folder.resolve("data"), new byte[64 << 10]);
        try (CuFileDriver driver = CuFileDriver.open();
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 64 << 10);
                CuFileHandle handle =
                        driver.openFile(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            GdsMetrics metrics = GdsMetrics.of(driver, Tag.of("driver", "first"));
            metrics.bindTo(registry);
            for (int i = 0; i < 10; i++) {
                handle.read(memory, 0);
            }
            handle.write(memory, 4096, 0, 0);
            try (CuFileBatch batch = driver.batch(2)) {
                batch.submit(List.of(CuFileBatch.Request.read(handle, memory, 4096, 0, 0),
                        CuFileBatch.Request.write(handle, memory, 4096, 8192, 0)));
                assertThat(batch.await(2, Duration.ofSeconds(30))).hasSize(2);
            }
            long moved = driver.bytesByPath().values().stream().mapToLong(Long::longValue).sum();
            assertThat(moved).isEqualTo((640 << 10) + 3 * 4096);
            assertThat(registry.find("gds4j.bytes").tag("driver", "first").functionCounters())
                    .hasSize(IoPath.values().length)
                    .extracting(FunctionCounter::count)
                    .satisfies(counts -> assertThat(counts.stream().mapToDouble(Double::doubleValue).sum())
                            .isEqualTo(moved));
            assertThat(registry.get("gds4j.pool.used").gauge().value()).isNotNegative();
            assertThat(registry.get("gds4j.pool.peak").gauge().value()).isNotNegative();
            assertThat(registry.get("gds4j.queue.depth").gauge().value()).isZero();
            assertThat(registry.get("gds4j.retries").functionCounter().count()).isNotNegative();
            assertThat(registry.get("gds4j.cache.hits").functionCounter().count()).isZero();
            metrics.close();
            assertThat(requests("read")).isEqualTo(10);
            assertThat(requests("write")).isEqualTo(1);
            assertThat(requests("batch_read")).isEqualTo(1);
            assertThat(requests("batch_write")).isEqualTo(1);
            Timer reads = registry.find("gds4j.requests").tag("operation", "read").timers().stream()
                    .filter(timer -> timer.count() > 0)
                    .findFirst()
                    .orElseThrow();
            assertThat(reads.totalTime(TimeUnit.NANOSECONDS)).isPositive();
            assertThat(reads.takeSnapshot().percentileValues()).hasSize(3)
                    .allSatisfy(percentile -> assertThat(percentile.value()).isPositive());
            assertThatIllegalStateException().isThrownBy(() -> metrics.bindTo(registry));
        }
    }

    @Test
    void closedDriverHasItsLastBytesAndNoError() {
        CuFileDriver driver = CuFileDriver.open();
        try (GdsMetrics metrics = GdsMetrics.of(driver)) {
            metrics.bindTo(registry);
            driver.close();
            registry.getMeters().forEach(meter -> meter.measure().forEach(one -> one.getValue()));
            assertThat(registry.find("gds4j.bytes").functionCounters()).hasSize(IoPath.values().length);
        }
    }

    private long requests(String operation) {
        return registry.find("gds4j.requests").tag("operation", operation).timers().stream()
                .mapToLong(Timer::count)
                .sum();
    }
}
