package io.gds4j;

import io.gds4j.spi.CuFileBackend;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;

/**
 * Counters of a driver session: {@code cuFileSetStatsLevel}, {@code cuFileStatsStart} and their kin. Thread-safe.
 *
 * <pre>{@code
 * CuFileStatistics statistics = driver.statistics();
 * statistics.setLevel(1);
 * statistics.start();
 * handle.read(memory, 0);
 * long bytes = statistics.level1().readBytes();
 * }</pre>
 *
 * <p>
 * From level 1 on the session can be asked from outside: by {@code gds stats PID}, or over JMX as a
 * {@link io.gds4j.statistics.CuFileStatisticsMXBean}. Whatever the level, Java Flight Recorder has {@code gds4j.Read},
 * {@code gds4j.Write} and {@code gds4j.Batch}.
 *
 * <p>
 * The level can be asked and set also while the driver is closed; all else throws DRIVER_NOT_INITIALIZED then, and
 * IO_NOT_SUPPORTED on a backend that does not count.
 *
 * @since 0.1
 */
@Experimental
public final class CuFileStatistics {
    private final SessionUse use;

    CuFileStatistics(SessionUse use) {
        this.use = use;
    }

    /**
     * Level that is counted ({@code cuFileGetStatsLevel}): 0 nothing to 3 per GPU.
     *
     * @return the level
     */
    public int level() {
        return use.session().backend().getStatsLevel();
    }

    /**
     * Sets the level ({@code cuFileSetStatsLevel}).
     *
     * @param level 0 to 3
     * @throws io.gds4j.error.CuFileException INVALID_VALUE outside
     */
    public void setLevel(int level) {
        if (level < 0 || level > 3) {
            throw Failures.invalid("cuFileSetStatsLevel", "level is outside 0..3: " + level);
        }
        use.session().backend().setStatsLevel(level);
        use.session().publishStatistics();
    }

    /** Begins counting ({@code cuFileStatsStart}). */
    public void start() {
        use.run("cuFileStatsStart", CuFileBackend::statsStart);
    }

    /** Stops counting ({@code cuFileStatsStop}). */
    public void stop() {
        use.run("cuFileStatsStop", CuFileBackend::statsStop);
    }

    /** Sets all counters to 0 ({@code cuFileStatsReset}). */
    public void reset() {
        use.run("cuFileStatsReset", CuFileBackend::statsReset);
    }

    /**
     * {@code cuFileGetStatsL1}; INVALID_VALUE while a lower level is set.
     *
     * @return the counters
     */
    public StatisticsLevel1 level1() {
        return use.call("cuFileGetStatsL1", CuFileBackend::getStatsL1);
    }

    /**
     * {@code cuFileGetStatsL2}; INVALID_VALUE while a lower level is set.
     *
     * @return the counters
     */
    public StatisticsLevel2 level2() {
        return use.call("cuFileGetStatsL2", CuFileBackend::getStatsL2);
    }

    /**
     * {@code cuFileGetStatsL3}; INVALID_VALUE while a lower level is set.
     *
     * @return the counters
     */
    public StatisticsLevel3 level3() {
        return use.call("cuFileGetStatsL3", CuFileBackend::getStatsL3);
    }

    /**
     * Bytes by path, bounce buffers, queue and retries; at any level, and also while the driver is closed.
     *
     * @return the counters
     */
    public EngineStatistics engine() {
        return use.session().backend().engineStatistics();
    }

    @Override
    public String toString() {
        return "CuFileStatistics of " + use;
    }
}
