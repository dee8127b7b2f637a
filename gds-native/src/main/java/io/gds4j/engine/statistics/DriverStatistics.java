package io.gds4j.engine.statistics;

import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;

/** cuFile's statistics functions, of gds4j or of the library. Thread-safe. */
public interface DriverStatistics {
    /** {@code cuFileSetStatsLevel}; INVALID_VALUE outside 0 to 3. */
    void setLevel(int level);

    /** {@code cuFileGetStatsLevel}. */
    int level();

    /** {@code cuFileStatsStart}. */
    void start();

    /** {@code cuFileStatsStop}; what was counted stays. */
    void stop();

    /** {@code cuFileStatsReset}. */
    void reset();

    /** {@code cuFileGetStatsL1}; INVALID_VALUE while a lower level is set. */
    StatisticsLevel1 level1();

    /** {@code cuFileGetStatsL2}; INVALID_VALUE while a lower level is set. */
    StatisticsLevel2 level2();

    /** {@code cuFileGetStatsL3}; INVALID_VALUE while a lower level is set. */
    StatisticsLevel3 level3();
}
