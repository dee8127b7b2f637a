package io.gds4j.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStatistics;
import io.gds4j.error.CuFileException;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.StatisticsLevel1;
import java.util.function.ToLongFunction;

/** Publishes the counters of an executor's driver and models to Spark. */
final class ExecutorMetrics {
    private ExecutorMetrics() {
    }

    static void register(MetricRegistry metrics, CuFileDriver driver, ModelRegistry models) {
        for (IoPath path : IoPath.values()) {
            gauge(metrics, "bytes." + path, () -> driver.bytesByPath().getOrDefault(path, 0L));
        }
        times(metrics, driver);
        gauge(metrics, "models.loaded", models::loads);
        gauge(metrics, "models.shared", models::hits);
        gauge(metrics, "models.evicted", models::evictions);
        gauge(metrics, "models.bytes", models::bytes);
        gauge(metrics, "models.loadMicros", () -> models.loadNanos() / 1000);
    }

    /** Times need statistics of level 1, which some backends lack. */
    private static void times(MetricRegistry metrics, CuFileDriver driver) {
        try {
            CuFileStatistics statistics = driver.statistics();
            if (statistics.level() == 0) {
                statistics.setLevel(1);
            }
            statistics.start();
            gauge(metrics, "readMicros", level1(driver, StatisticsLevel1::readLatencySumMicros));
            gauge(metrics, "writeMicros", level1(driver, StatisticsLevel1::writeLatencySumMicros));
        } catch (CuFileException e) {
            System.getLogger("io.gds4j.spark")
                    .log(System.Logger.Level.INFO, "no metrics of times: {0}", e.getMessage());
        }
    }

    /** A sink may ask once more while the executor ends. */
    private static Gauge<Long> level1(CuFileDriver driver, ToLongFunction<StatisticsLevel1> field) {
        return () -> driver.isOpen() ? field.applyAsLong(driver.statistics().level1()) : 0L;
    }

    private static void gauge(MetricRegistry metrics, String name, Gauge<Long> gauge) {
        metrics.register(name, gauge);
    }
}
