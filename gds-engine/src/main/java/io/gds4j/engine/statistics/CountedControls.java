package io.gds4j.engine.statistics;

import io.gds4j.engine.lifecycle.DriverUses;
import io.gds4j.spi.DriverControls;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The controls of a driver whose statistics gds4j counts. Counters outlive the sessions.
 *
 * @param <S> the session
 */
public abstract class CountedControls<S> implements DriverControls {
    protected final DriverUses<S> uses;
    protected final CuFileCounters statistics;
    protected final PathCounters pathBytes;

    protected CountedControls(DriverUses<S> uses, CuFileCounters statistics, PathCounters pathBytes) {
        this.uses = uses;
        this.statistics = statistics;
        this.pathBytes = pathBytes;
    }

    /** Makes a call that needs the open session and belongs to no transfer. */
    protected <T> T whileOpen(String function, Function<S, T> call) {
        return call.apply(uses.current(function));
    }

    /** As {@link #whileOpen}, for a call without a value. */
    protected final void runWhileOpen(String function, Consumer<S> call) {
        whileOpen(function, open -> {
            call.accept(open);
            return true;
        });
    }

    @Override
    public final long bytesWritten() {
        return pathBytes.written().sum();
    }

    @Override
    public final void setStatsLevel(int level) {
        statistics.setLevel(level);
    }

    @Override
    public final int getStatsLevel() {
        return statistics.level();
    }

    @Override
    public final void statsStart() {
        runWhileOpen("cuFileStatsStart", open -> statistics.start());
    }

    @Override
    public final void statsStop() {
        runWhileOpen("cuFileStatsStop", open -> statistics.stop());
    }

    @Override
    public final void statsReset() {
        runWhileOpen("cuFileStatsReset", open -> statistics.reset());
    }

    @Override
    public final StatisticsLevel1 getStatsL1() {
        return whileOpen("cuFileGetStatsL1", open -> statistics.level1());
    }

    @Override
    public final StatisticsLevel2 getStatsL2() {
        return whileOpen("cuFileGetStatsL2", open -> statistics.level2());
    }

    @Override
    public final StatisticsLevel3 getStatsL3() {
        return whileOpen("cuFileGetStatsL3", open -> statistics.level3());
    }
}
