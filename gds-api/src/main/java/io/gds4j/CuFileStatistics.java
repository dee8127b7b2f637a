package io.gds4j;

import io.gds4j.spi.CuFileBackend;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;

/**
 * Counters of a driver session: {@code cuFileSetStatsLevel}, {@code cuFileStatsStart} and their kin.
 *
 * @since 0.1
 */
@Experimental
public final class CuFileStatistics {
    private final Session session;

    CuFileStatistics(Session session) {
        this.session = session;
    }

    /** Level that is counted ({@code cuFileGetStatsLevel}): 0 nothing to 3 per GPU. */
    public int level() {
        return session.backend().getStatsLevel();
    }

    /**
     * Sets the level ({@code cuFileSetStatsLevel}).
     *
     * @param level 0 to 3
     * @throws io.gds4j.error.CuFileException INVALID_VALUE outside
     */
    public void setLevel(int level) {
        if (level < 0 || level > 3) {
            throw CuFileDriver.invalid("cuFileSetStatsLevel", "level is outside 0..3: " + level);
        }
        session.backend().setStatsLevel(level);
    }

    /** Begins counting ({@code cuFileStatsStart}). */
    public void start() {
        open("cuFileStatsStart").statsStart();
    }

    /** Stops counting ({@code cuFileStatsStop}). */
    public void stop() {
        open("cuFileStatsStop").statsStop();
    }

    /** Sets all counters to 0 ({@code cuFileStatsReset}). */
    public void reset() {
        open("cuFileStatsReset").statsReset();
    }

    /** {@code cuFileGetStatsL1}; INVALID_VALUE while a lower level is set. */
    public StatisticsLevel1 level1() {
        return open("cuFileGetStatsL1").getStatsL1();
    }

    /** {@code cuFileGetStatsL2}; INVALID_VALUE while a lower level is set. */
    public StatisticsLevel2 level2() {
        return open("cuFileGetStatsL2").getStatsL2();
    }

    /** {@code cuFileGetStatsL3}; INVALID_VALUE while a lower level is set. */
    public StatisticsLevel3 level3() {
        return open("cuFileGetStatsL3").getStatsL3();
    }

    private CuFileBackend open(String function) {
        session.checkOpen(function);
        return session.backend();
    }
}
