package io.gds4j.interop.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.Logged;
import io.gds4j.compat.CompatBackend;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.IoPath;
import io.micrometer.common.KeyValue;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** What a registry of Micrometer shows. */
@org.junit.jupiter.api.Tag("slow")
class GdsMetricsTest {
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.metrics");

    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

    @Test
    void registryShowsBytesRequestsAndPercentiles(@TempDir Path folder) throws Exception {
        Path file = Files.write(folder.resolve("data"), new byte[64 << 10]);
        try (CuFileDriver driver = CuFileDriver.open();
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 64 << 10);
                CuFileHandle handle =
                        driver.openFile(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            GdsMetrics metrics = new GdsMetrics(driver, Tag.of("driver", "first"));
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
        try (GdsMetrics metrics = new GdsMetrics(driver)) {
            metrics.bindTo(registry);
            driver.close();
            registry.getMeters().forEach(meter -> meter.measure().forEach(one -> one.getValue()));
            assertThat(registry.find("gds4j.bytes").functionCounters()).hasSize(IoPath.values().length);
        }
    }

    /** Meters of the closed driver once kept those of the next one out. */
    @Test
    void nextDriverTakesThePlaceOfAClosedOne(@TempDir Path folder) throws Exception {
        CompositeMeterRegistry composite = new CompositeMeterRegistry(Clock.SYSTEM, List.of(registry));
        for (int times : new int[]{3, 5}) {
            try (CuFileDriver driver = CuFileDriver.open()) {
                GdsMetrics metrics = new GdsMetrics(driver, Tag.of("app", "one"));
                metrics.bindTo(composite);
                read(driver, folder, times);
                metrics.close();
                assertThat(registry.find("gds4j.bytes").functionCounters())
                        .hasSize(IoPath.values().length)
                        .extracting(FunctionCounter::count)
                        .satisfies(counts -> assertThat(counts.stream().mapToDouble(Double::doubleValue).sum())
                                .isEqualTo(times * 4096));
                assertThat(registry.get("gds4j.pool.used").gauge().value()).isNotNaN();
            }
        }
    }

    @Test
    void bindingTwiceCountsOnce(@TempDir Path folder) throws Exception {
        Path file = Files.write(folder.resolve("data"), new byte[4096]);
        try (CuFileDriver driver = CuFileDriver.open();
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
                CuFileHandle handle = driver.openFile(file, StandardOpenOption.READ)) {
            GdsMetrics metrics = new GdsMetrics(driver);
            metrics.bindTo(registry);
            metrics.bindTo(registry);
            for (int i = 0; i < 10; i++) {
                handle.read(memory, 0);
            }
            metrics.close();
            assertThat(requests("read")).isEqualTo(10);
        }
    }

    /** A filter of the program that throws once kept all registries behind it from each measurement. */
    @Test
    void registryThatFailsLeavesOthersTheirMeasurements(@TempDir Path folder) throws Exception {
        SimpleMeterRegistry failing = new SimpleMeterRegistry();
        failing.config().meterFilter(failing("gds4j.requests", new AtomicBoolean(true)));
        try (CuFileDriver driver = CuFileDriver.open()) {
            GdsMetrics metrics = new GdsMetrics(driver);
            metrics.bindTo(failing);
            metrics.bindTo(registry);
            read(driver, folder, 10);
            metrics.close();
        }
        assertThat(requests("read")).isEqualTo(10);
        assertThat(logged.lines()).singleElement().asString().contains("refused a measurement");
    }

    @Test
    void registryThatFailsAtFirstIsBoundLater(@TempDir Path folder) throws Exception {
        AtomicBoolean fails = new AtomicBoolean(true);
        registry.config().meterFilter(failing("gds4j.bytes", fails));
        try (CuFileDriver driver = CuFileDriver.open()) {
            GdsMetrics metrics = new GdsMetrics(driver);
            assertThatIllegalStateException().isThrownBy(() -> metrics.bindTo(registry)).withMessage("gds4j.bytes");
            fails.set(false);
            metrics.bindTo(registry);
            read(driver, folder, 10);
            metrics.close();
        }
        assertThat(registry.get("gds4j.pool.used").gauge().value()).isNotNull();
        assertThat(requests("read")).isEqualTo(10);
    }

    @Test
    void nullIsRefusedAtOnce(@TempDir Path folder) throws Exception {
        try (CuFileDriver driver = CuFileDriver.open()) {
            GdsMetrics metrics = new GdsMetrics(driver);
            assertThatNullPointerException().isThrownBy(() -> new GdsMetrics(driver, (Tag) null));
            assertThatNullPointerException().isThrownBy(() -> metrics.bindTo(null)).withMessage("registry");
            metrics.bindTo(registry);
            read(driver, folder, 1);
            metrics.close();
        }
        assertThat(requests("read")).isEqualTo(1);
    }

    /** The end of the recording waits for the thread that measures. */
    @Test
    @Timeout(60)
    void metricsAreNotClosedInsideAMeasurement(@TempDir Path folder) throws Exception {
        try (CuFileDriver driver = CuFileDriver.open()) {
            GdsMetrics metrics = new GdsMetrics(driver);
            registry.config().onMeterAdded(meter -> {
                if (meter.getId().getName().equals("gds4j.requests")) {
                    metrics.close();
                }
            });
            metrics.bindTo(registry);
            read(driver, folder, 1);
            metrics.close();
        }
        assertThat(logged.records())
                .singleElement()
                .satisfies(entry -> assertThat(entry.getThrown())
                        .hasMessageContaining("closed from inside a measurement"));
    }

    @Test
    void interruptedThreadBindsBeforeItsFirstRequest(@TempDir Path folder) throws Exception {
        try (CuFileDriver driver = CuFileDriver.open()) {
            GdsMetrics metrics = new GdsMetrics(driver);
            Thread.currentThread().interrupt();
            metrics.bindTo(registry);
            assertThat(Thread.interrupted()).isTrue();
            read(driver, folder, 10);
            metrics.close();
        }
        assertThat(requests("read")).isEqualTo(10);
    }

    private static MeterFilter failing(String prefix, AtomicBoolean fails) {
        return new MeterFilter() {
            @Override
            public Meter.Id map(Meter.Id id) {
                if (fails.get() && id.getName().startsWith(prefix)) {
                    throw new IllegalStateException(prefix);
                }
                return id;
            }
        };
    }

    private static void read(CuFileDriver driver, Path folder, int times) throws IOException {
        Path file = Files.write(folder.resolve("data"), new byte[4096]);
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
                CuFileHandle handle = driver.openFile(file, StandardOpenOption.READ)) {
            for (int i = 0; i < times; i++) {
                handle.read(memory, 0);
            }
        }
    }

    @Test
    void timersComeWithTheirFirstRequest(@TempDir Path folder) throws Exception {
        Path file = Files.write(folder.resolve("data"), new byte[4096]);
        try (CuFileDriver driver = CuFileDriver.open();
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
                CuFileHandle handle = driver.openFile(file, StandardOpenOption.READ)) {
            GdsMetrics metrics = new GdsMetrics(driver);
            metrics.bindTo(registry);
            assertThat(registry.getMeters()).noneMatch(Timer.class::isInstance);
            handle.read(memory, 0);
            metrics.close();
            assertThat(registry.find("gds4j.requests").timers()).hasSize(1);
        }
    }

    /** Prometheus appends the unit to the name. */
    @Test
    void nameAndUnitDoNotRepeatEachOther() {
        try (CuFileDriver driver = CuFileDriver.open(); GdsMetrics metrics = new GdsMetrics(driver)) {
            metrics.bindTo(registry);
            assertThat(registry.getMeters()).hasSizeGreaterThan(8)
                    .extracting(meter -> meter.getId().getBaseUnit())
                    .containsOnly(null, "bytes");
        }
    }

    @Test
    void checkpointsAreTimedAndCounted(@TempDir Path folder) throws Exception {
        Path path = folder.resolve("model.safetensors");
        try (CuFileDriver driver = CuFileDriver.open();
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096)) {
            GdsMetrics metrics = new GdsMetrics(driver);
            metrics.bindTo(registry);
            SavePlan.builder()
                    .tensor("t", DType.U8, memory.range(), memory.length())
                    .toFile(path)
                    .save(driver);
            Checkpoint checkpoint = Checkpoint.open(path);
            checkpoint.plan().load(driver).close();
            checkpoint.plan().load(driver).close();
            Files.delete(path);
            assertThatThrownBy(() -> checkpoint.plan().load(driver)).isInstanceOf(CuFileException.class);
            metrics.close();
            assertThat(checkpoints("save", "success")).isEqualTo(1);
            assertThat(checkpoints("load", "success")).isEqualTo(2);
            assertThat(checkpoints("load", "failure")).isEqualTo(1);
            assertThat(registry.get("gds4j.checkpoints.moved").tag("operation", "load").counter().count())
                    .isEqualTo(2 * memory.length());
        }
    }

    private long checkpoints(String operation, String outcome) {
        return registry.get("gds4j.checkpoints")
                .tags("checkpoint", "model.safetensors", "operation", operation, "outcome", outcome)
                .timer()
                .count();
    }

    @Test
    void recordsAreCounted(@TempDir Path folder) throws Exception {
        Path file = Files.write(folder.resolve("data"), new byte[1000]);
        try (CuFileDriver driver = CuFileDriver.open()) {
            GdsMetrics metrics = new GdsMetrics(driver);
            metrics.bindTo(registry);
            try (RecordLoader loader = RecordLoader.builder(driver, RecordFiles.fixed(List.of(file), 10), 40)
                    .target(MemoryKind.HOST, 0).memory(1 << 20).epochs(1).open()) {
                while (loader.hasNext()) {
                    loader.next().close();
                }
            }
            metrics.close();
            assertThat(registry.get("gds4j.records.delivered").counter().count()).isEqualTo(100);
            assertThat(registry.get("gds4j.records.skipped").counter().count()).isZero();
            assertThat(registry.get("gds4j.records.read").counter().count()).isEqualTo(1000);
            assertThat(registry.get("gds4j.records.batches").timer().count()).isEqualTo(3);
        }
    }

    @Test
    void programThatForgetsTheBinderEndsAndMayCloseItInAShutdownHook(@TempDir Path folder) {
        ChildJvm.End end = new ChildJvm(MetricsChild.class, folder, CompatBackend.class, GdsMetrics.class,
                SimpleMeterRegistry.class, KeyValue.class, Observation.class).run();
        assertThat(end.status()).as("%s", end).isZero();
        assertThat(end.output()).contains("main returns", "closed in the hook");
        assertThat(end.error()).doesNotContain("Exception");
    }

    private long requests(String operation) {
        return registry.find("gds4j.requests").tag("operation", operation).timers().stream()
                .mapToLong(Timer::count)
                .sum();
    }
}
