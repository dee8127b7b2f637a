package io.gds4j.ffi.cufile;

import io.gds4j.engine.statistics.DriverStatistics;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import org.jspecify.annotations.Nullable;

/**
 * The library's counters; on request only, see {@link LibraryDuties#STATISTICS_PROPERTY}. It frees them under the hands of its
 * own threads when its level changes while it counts, or when it starts again; stopped, it forgets its level and answers
 * nothing. So it is set to the highest level once and started once. Lower levels, stopping and starting again are made here.
 */
final class LibraryStatistics implements DriverStatistics {
    private static final int ALL = 3;

    private final CuFileLibrary library;
    private int level;
    private int levelInside;
    private boolean wanted;
    private boolean counts;
    /** What there was when it was stopped. */
    private @Nullable StatisticsLevel3 frozen;

    /**
     * Over a library that was opened just now, before any transfer.
     *
     * @param level that it was configured with
     */
    LibraryStatistics(CuFileLibrary library, int level) {
        this.library = library;
        this.level = level;
        if (level > 0 && library.has(CuFileFunction.SET_STATS_LEVEL)) {
            raise();
        }
    }

    private void raise() {
        if (levelInside < ALL) {
            library.setStatsLevel(ALL);
            levelInside = ALL;
        }
    }

    @Override
    public synchronized int level() {
        return level;
    }

    @Override
    public synchronized void setLevel(int wish) {
        if (wish > 0) {
            raise();
        }
        level = wish;
        if (wanted) {
            count();
        }
    }

    /** At level 0 there is nothing to count, and the library would fail with an internal error. */
    @Override
    public synchronized void start() {
        wanted = true;
        frozen = null;
        count();
    }

    private void count() {
        if (level > 0 && !counts) {
            library.statsStart();
            counts = true;
        }
    }

    @Override
    public synchronized void stop() {
        wanted = false;
        if (counts && frozen == null) {
            frozen = library.getStatsL3();
        }
    }

    @Override
    public synchronized void reset() {
        library.statsReset();
        if (frozen != null) {
            frozen = library.getStatsL3();
        }
    }

    @Override
    public synchronized StatisticsLevel1 level1() {
        check(1, "cuFileGetStatsL1");
        return frozen != null ? frozen.detailed().basic() : library.getStatsL1();
    }

    @Override
    public synchronized StatisticsLevel2 level2() {
        check(2, "cuFileGetStatsL2");
        return frozen != null ? frozen.detailed() : library.getStatsL2();
    }

    @Override
    public synchronized StatisticsLevel3 level3() {
        check(ALL, "cuFileGetStatsL3");
        return frozen != null ? frozen : library.getStatsL3();
    }

    private void check(int asked, String function) {
        if (level < asked) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE, function,
                    "the level of statistics is %d, not %d".formatted(level, asked));
        }
    }
}
