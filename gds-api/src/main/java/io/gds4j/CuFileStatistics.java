package io.gds4j;

import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;

/**
 * Counters of a driver session ({@code cuFileStats*}, {@code cuFileGetStats*}, {@code cuFileSetStatsLevel}). Thread-safe.
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
 * From level 1 on, {@code gds stats PID} and JMX ({@link io.gds4j.statistics.CuFileStatisticsMXBean}) show the counters from
 * outside. {@code gds top} and JMX show bytes by I/O path and bounce buffers at any level. Java Flight Recorder has the events {@code gds4j.Read}, {@code gds4j.Write} and {@code gds4j.Batch} at any level, and on request events of their pieces.
 *
 * <p>
 * All methods throw IO_NOT_SUPPORTED on a backend without statistics. After the driver is closed, {@link #level},
 * {@link #setLevel}, {@link #engine}, {@link #bytesRead} and {@link #bytesWritten} still work; the others throw DRIVER_NOT_INITIALIZED.
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
     * Returns the level of statistics ({@code cuFileGetStatsLevel}).
     *
     * @return 0 none, 1 calls and bytes, 2 histograms, 3 counters of each GPU
     */
    public int level() {
        return use.session().backend().controls().getStatsLevel();
    }

    /**
     * Sets the level ({@code cuFileSetStatsLevel}).
     *
     * @param level 0 to 3
     * @throws io.gds4j.error.CuFileException INVALID_VALUE (EINVAL) for another level
     */
    public void setLevel(int level) {
        if (level < 0 || level > 3) {
            throw Failures.invalid("cuFileSetStatsLevel", "level is outside 0..3: " + level);
        }
        use.session().backend().controls().setStatsLevel(level);
        use.session().publishStatistics();
    }

    /** Starts counting ({@code cuFileStatsStart}). */
    public void start() {
        use.run("cuFileStatsStart", backend -> backend.controls().statsStart());
    }

    /** Stops counting ({@code cuFileStatsStop}). */
    public void stop() {
        use.run("cuFileStatsStop", backend -> backend.controls().statsStop());
    }

    /** Sets all counters to 0 ({@code cuFileStatsReset}). */
    public void reset() {
        use.run("cuFileStatsReset", backend -> backend.controls().statsReset());
    }

    /**
     * Returns the counters of level 1 ({@code cuFileGetStatsL1}).
     *
     * @return the counters
     * @throws io.gds4j.error.CuFileException INVALID_VALUE if the current level is lower
     */
    public StatisticsLevel1 level1() {
        return use.call("cuFileGetStatsL1", backend -> backend.controls().getStatsL1());
    }

    /**
     * Returns the counters of level 2 ({@code cuFileGetStatsL2}).
     *
     * @return the counters
     * @throws io.gds4j.error.CuFileException INVALID_VALUE if the current level is lower
     */
    public StatisticsLevel2 level2() {
        return use.call("cuFileGetStatsL2", backend -> backend.controls().getStatsL2());
    }

    /**
     * Returns the counters of level 3 ({@code cuFileGetStatsL3}).
     *
     * @return the counters
     * @throws io.gds4j.error.CuFileException INVALID_VALUE if the current level is lower
     */
    public StatisticsLevel3 level3() {
        return use.call("cuFileGetStatsL3", backend -> backend.controls().getStatsL3());
    }

    /** {@return bytes read from files so far, as {@link CuFileDriver#bytesRead}, at any level} */
    public long bytesRead() {
        return use.session().bytesRead();
    }

    /** {@return bytes written to files so far, as {@link CuFileDriver#bytesWritten}, at any level} */
    public long bytesWritten() {
        return use.session().backend().controls().bytesWritten();
    }

    /**
     * Returns bytes by I/O path, bounce buffers, queue depth and retries, at any level.
     *
     * @return the counters
     */
    public EngineStatistics engine() {
        return use.session().backend().controls().engineStatistics();
    }

    @Override
    public String toString() {
        return "CuFileStatistics of " + use;
    }
}
