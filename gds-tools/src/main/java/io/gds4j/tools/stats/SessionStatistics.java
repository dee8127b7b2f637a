package io.gds4j.tools.stats;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStatistics;
import io.gds4j.statistics.CuFileStatisticsMXBean;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.util.Collections;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Statistics of a driver session.
 *
 * @param number number of the session in its process, or another name
 * @param backend backend of the session
 * @param level level of statistics, 1 to 3
 * @param level1 calls and bytes
 * @param level2 also histograms; empty below level 2
 * @param level3 also each GPU; empty below level 3
 * @param bytesByPath bytes moved by each I/O path
 * @param bouncePoolBytes bounce buffers in use, bytes
 * @param bouncePoolPeakBytes peak of bounce buffers in use, bytes
 * @param queueDepth requests in flight or waiting
 * @param retries number of repeated system calls
 * @param ioUring {@code on}, {@code off}, or the reason why threads replace io_uring
 */
record SessionStatistics(
        String number,
        String backend,
        int level,
        StatisticsLevel1 level1,
        Optional<StatisticsLevel2> level2,
        Optional<StatisticsLevel3> level3,
        Map<String, Long> bytesByPath,
        long bouncePoolBytes,
        long bouncePoolPeakBytes,
        long queueDepth,
        long retries,
        String ioUring) {

    SessionStatistics {
        // another JVM may return anything
        Objects.requireNonNull(backend, "backend");
        Objects.requireNonNull(level1, "level1");
        Objects.requireNonNull(ioUring, "ioUring");
        bytesByPath = Collections.unmodifiableMap(new TreeMap<>(bytesByPath));
    }

    /** Reads a session of this process, which collects statistics of level 3. */
    static SessionStatistics of(String name, CuFileDriver driver) {
        CuFileStatistics statistics = driver.statistics();
        StatisticsLevel3 all = statistics.level3();
        EngineStatistics engine = statistics.engine();
        Map<String, Long> paths = new TreeMap<>();
        engine.bytesByPath().forEach((path, bytes) -> paths.put(path.name(), bytes));
        return new SessionStatistics(
                name,
                driver.backendName(),
                statistics.level(),
                all.detailed().basic(),
                Optional.of(all.detailed()),
                Optional.of(all),
                paths,
                engine.bouncePoolBytes(),
                engine.bouncePoolPeakBytes(),
                engine.queueDepth(),
                engine.retries(),
                engine.ioUring());
    }

    /** Reads a session of another process; returns nothing if it collects no statistics. */
    static Optional<SessionStatistics> read(String number, CuFileStatisticsMXBean bean) {
        int level = bean.getLevel();
        return level < 1 ? Optional.empty() : Optional.of(new SessionStatistics(
                number,
                bean.getBackend(),
                level,
                bean.getLevel1(),
                level >= 2 ? Optional.of(bean.getLevel2()) : Optional.empty(),
                level >= 3 ? Optional.of(bean.getLevel3()) : Optional.empty(),
                bean.getBytesByPath(),
                bean.getBouncePoolBytes(),
                bean.getBouncePoolPeakBytes(),
                bean.getQueueDepth(),
                bean.getRetries(),
                bean.getIoUring()));
    }
}
