package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStatistics;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.CuFileStatisticsMXBean;
import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.lang.management.ManagementFactory;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;
import javax.management.JMX;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Contract of cuFile's statistics: they count each request once, at its level, from start to stop.
 *
 * @since 0.1
 */
public abstract class StatisticsContract extends BackendContract {
    private static final int PAGE = 4096;
    private static final int SIZE = 16 * PAGE;

    /** For subclasses. */
    protected StatisticsContract() {
    }

    @BeforeEach
    void backendCounts() {
        assumeFalse(backend().unbuiltFunctions().contains("cuFileGetStatsL1"), "not built");
    }

    private void countersAreOfThisSessionAlone() {
        assumeFalse(diverges(Divergence.STATISTICS_OF_ONE_BACKEND), "STATISTICS_OF_ONE_BACKEND");
    }

    private static CuFileStatistics started(CuFileDriver driver, int level) {
        CuFileStatistics statistics = driver.statistics();
        statistics.setLevel(level);
        statistics.start();
        return statistics;
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void eachRequestIsCountedOnceWithItsBytes(MemoryKind kind) {
        countersAreOfThisSessionAlone();
        GuardedFile file = newFile(SIZE);
        try (CuFileDriver driver = newDriver()) {
            CuFileStatistics statistics = started(driver, 2);
            try (GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), kind, SIZE);
                    CuFileHandle handle =
                            driver.openFile(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                try (CuFileBuffer buffer = driver.registerBuffer(memory.range())) {
                    handle.read(buffer, 0);
                    handle.read(memory.range(), 2 * PAGE, SIZE - PAGE, 0);
                    handle.read(memory.range(), 1000, 3, 5);
                    handle.write(memory.range(), PAGE, 0, 0);
                }
            }
            StatisticsLevel2 counted = statistics.level2();
            StatisticsLevel1 basic = counted.basic();
            assertThat(basic.readOps()).isEqualTo(new OperationCount(3, 0));
            assertThat(basic.readBytes()).as("less at the end of the file").isEqualTo(SIZE + PAGE + 1000);
            assertThat(basic.writeOps()).isEqualTo(new OperationCount(1, 0));
            assertThat(basic.writeBytes()).isEqualTo(PAGE);
            assertThat(basic.handleRegisterOps()).isEqualTo(new OperationCount(1, 0));
            assertThat(basic.handleDeregisterOps()).isEqualTo(new OperationCount(1, 0));
            assertThat(basic.bufferRegisterOps()).isEqualTo(new OperationCount(1, 0));
            assertThat(basic.bufferDeregisterOps()).isEqualTo(new OperationCount(1, 0));
            assertThat(basic.readLatencySumMicros()).isGreaterThanOrEqualTo(3 * basic.readLatencyAverageMicros());
            assertThat(counted.readSizeKbHistogram())
                    .as("1000 bytes, 8 KiB and 64 KiB")
                    .isEqualTo(histogram(0, 2, 5));
            assertThat(counted.writeSizeKbHistogram()).as("4 KiB").isEqualTo(histogram(1));
        }
    }

    private static List<Long> histogram(int... buckets) {
        long[] counts = new long[32];
        for (int bucket : buckets) {
            counts[bucket]++;
        }
        return LongStream.of(counts).boxed().toList();
    }

    @Test
    void failedRequestIsCountedAsAnErrorWithoutBytes() {
        countersAreOfThisSessionAlone();
        GuardedFile file = newFile(PAGE);
        try (CuFileDriver driver = newDriver()) {
            CuFileStatistics statistics = started(driver, 1);
            Failures.expect(() -> driver.openFile(file.path().resolveSibling("missing")));
            assertThat(statistics.level1().handleRegisterOps()).isEqualTo(new OperationCount(0, 1));
            try (GuardedMemory memory = GuardedMemory.allocate(
                    driver.allocator(), MemoryKind.HOST, PAGE);
                    CuFileBuffer first = driver.registerBuffer(memory.range())) {
                Failures.expect(
                        CuFileError.MEMORY_ALREADY_REGISTERED, () -> driver.registerBuffer(memory.range()));
                assertThat(statistics.level1().bufferRegisterOps()).isEqualTo(new OperationCount(1, 1));
                assertThat(first.isOpen()).isTrue();
            }
        }
    }

    @Test
    void onlyRequestsBetweenStartAndStopAreCounted() {
        countersAreOfThisSessionAlone();
        GuardedFile file = newFile(PAGE);
        try (CuFileDriver driver = newDriver();
                CuFileHandle handle = driver.openFile(file.path());
                GuardedMemory memory =
                        GuardedMemory.allocate(driver.allocator(), MemoryKind.HOST, PAGE)) {
            CuFileStatistics statistics = driver.statistics();
            statistics.setLevel(1);
            handle.read(memory.range(), 0);
            assertThat(statistics.level1().readOps().ok()).as("before start").isZero();
            statistics.start();
            handle.read(memory.range(), 0);
            statistics.stop();
            handle.read(memory.range(), 0);
            assertThat(statistics.level1().readOps().ok()).as("after stop").isEqualTo(1);
            statistics.reset();
            assertThat(statistics.level1().readBytes()).as("after reset").isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void higherLevelsContainOnlyLowerOnes(int level) {
        try (CuFileDriver driver = newDriver()) {
            CuFileStatistics statistics = started(driver, level);
            assertThat(statistics.level()).isEqualTo(level);
            expectLevel(level >= 1, statistics::level1);
            expectLevel(level >= 2, statistics::level2);
            expectLevel(level >= 3, statistics::level3);
        }
    }

    private static void expectLevel(boolean answered, Runnable question) {
        if (answered) {
            question.run();
        } else {
            Failures.expect(CuFileError.INVALID_VALUE, question::run);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 4, 9})
    void unknownLevelIsInvalid(int level) {
        Failures.expect(CuFileError.INVALID_VALUE, () -> driver().statistics().setLevel(level));
    }

    @Test
    void configuredLevelCountsFromTheStart() {
        countersAreOfThisSessionAlone();
        GuardedFile file = newFile(PAGE);
        try (CuFileDriver driver = newDriver(
                backend().config().toBuilder().set(CuFileKeys.PROFILE_CUFILE_STATS, 1L).build());
                CuFileHandle handle = driver.openFile(file.path())) {
            assertThat(driver.statistics().level1().handleRegisterOps().ok()).isEqualTo(1);
            assertThat(handle.isOpen()).isTrue();
        }
    }

    @Test
    void everyGpuHasItsOwnCounters() {
        countersAreOfThisSessionAlone();
        if (!backend().kinds().contains(MemoryKind.CUDA_DEVICE)) {
            return;
        }
        GuardedFile file = newFile(SIZE);
        try (CuFileDriver driver = newDriver();
                CuFileHandle handle = driver.openFile(file.path());
                GuardedMemory memory = GuardedMemory.allocate(
                        driver.allocator(), MemoryKind.CUDA_DEVICE, SIZE)) {
            CuFileStatistics statistics = started(driver, 3);
            try (CuFileBuffer buffer = driver.registerBuffer(memory.range())) {
                handle.read(buffer, 0);
                handle.read(buffer, 10, 1, 1);
                assertThat(statistics.level3().gpus().getFirst().registeredBytes()).isEqualTo(SIZE);
            }
            StatisticsLevel3 level3 = statistics.level3();
            GpuStatistics gpu = level3.gpus().getFirst();
            assertThat(gpu.uuid()).matches("[0-9a-f]{32}");
            assertThat(gpu.totalReads()).isEqualTo(2);
            assertThat(gpu.readBytes()).isEqualTo(SIZE + 10);
            assertThat(gpu.p2pReads() + gpu.nvfsReads() + gpu.posixReads()).isEqualTo(2);
            assertThat(gpu.unalignedReads()).isEqualTo(memory.range().address() % PAGE == 0 ? 1 : 2);
            assertThat(gpu.readUtilization()).isBetween(0L, 100L);
            assertThat(gpu.bufferRegistrationsOk()).isEqualTo(1);
            assertThat(gpu.bufferDeregistrations()).isEqualTo(1);
            assertThat(gpu.registeredBytes()).isZero();
        }
    }

    @Test
    void bytesByPathAddUpAtEveryLevel() {
        GuardedFile file = newFile(SIZE);
        try (CuFileDriver driver = newDriver();
                CuFileHandle handle = driver.openFile(file.path());
                GuardedMemory memory =
                        GuardedMemory.allocate(driver.allocator(), MemoryKind.HOST, SIZE)) {
            handle.read(memory.range(), 0);
            assertThat(driver.statistics().engine().bytesByPath().values().stream().mapToLong(Long::longValue).sum())
                    .isEqualTo(SIZE);
            assertThat(driver.statistics().engine().queueDepth()).isZero();
        }
    }

    @Test
    void countingSessionIsVisibleOverJmxUntilClose() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName pattern = new ObjectName(CuFileStatisticsMXBean.NAME_PATTERN);
        Set<ObjectName> before = server.queryNames(pattern, null);
        GuardedFile file = newFile(SIZE);
        ObjectName mine;
        try (CuFileDriver driver = newDriver();
                CuFileHandle handle = driver.openFile(file.path());
                GuardedMemory memory =
                        GuardedMemory.allocate(driver.allocator(), MemoryKind.HOST, SIZE)) {
            CuFileStatistics statistics = started(driver, 3);
            handle.read(memory.range(), 0);
            Set<ObjectName> now = server.queryNames(pattern, null);
            now.removeAll(before);
            // An earlier session without counters may have become a bean meanwhile.
            now.removeIf(name -> JMX.newMXBeanProxy(server, name, CuFileStatisticsMXBean.class).getLevel() == 0);
            assertThat(now).hasSize(1);
            mine = now.iterator().next();
            CuFileStatisticsMXBean bean = JMX.newMXBeanProxy(server, mine, CuFileStatisticsMXBean.class);
            assertThat(bean.getLevel()).isEqualTo(3);
            // Rates cover the previous second, which may end between the two queries.
            assertThat(bean.getLevel1())
                    .usingRecursiveComparison()
                    .ignoringFieldsMatchingRegexes(".*PerSecond")
                    .isEqualTo(statistics.level1());
            assertThat(bean.getLevel2().readSizeKbHistogram()).isEqualTo(statistics.level2().readSizeKbHistogram());
            assertThat(bean.getLevel3().gpus()).hasSameSizeAs(statistics.level3().gpus());
            assertThat(bean.getBytesByPath().values()).containsExactly((long) SIZE);
        }
        assertThat(server.isRegistered(mine)).isFalse();
    }
}
