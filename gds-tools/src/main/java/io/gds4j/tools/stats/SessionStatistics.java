package io.gds4j.tools.stats;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStatistics;
import io.gds4j.statistics.CuFileStatisticsMXBean;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What one driver session has counted.
 *
 * @param number its number in its process, or what else tells it from others
 * @param backend what serves it
 * @param level what is counted, 1 to 3
 * @param level1 calls and bytes
 * @param level2 with histograms, from level 2 on
 * @param level3 with each GPU, at level 3
 * @param bytesByPath bytes moved by each I/O path
 * @param bouncePoolBytes bounce buffers in use, bytes
 * @param bouncePoolPeakBytes most of them in use at a time, bytes
 * @param queueDepth requests in flight or waiting
 * @param retries requests to the kernel that were repeated
 * @param ioUring on, off, or why threads serve in its place
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

    /** Of a session of this process, which counts at level 3. */
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

    static SessionStatistics read(String number, CuFileStatisticsMXBean bean) {
        int level = bean.getLevel();
        return new SessionStatistics(
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
                bean.getIoUring());
    }
}
