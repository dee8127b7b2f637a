package io.gds4j.engine.statistics;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A driver whose first user opens a session and whose last one ends it. Its counters outlive the sessions.
 *
 * @param <S> the session
 */
public abstract class CountedDriver<S> implements CuFileBackend {
    protected final CuFileCounters statistics;
    protected final PathCounters pathBytes = new PathCounters();

    /** Changed under the lock; read without it, because every request reads it. */
    private volatile @Nullable S session;

    /** Number of opens without a close. */
    private long users;

    protected CountedDriver(CudaAvailability cuda) {
        this.statistics = new CuFileCounters(cuda);
    }

    /** Opens a session. Called under the lock. */
    protected abstract S openSession();

    /** Gives up what the next open needs. Called under the lock, which the last user holds. */
    protected abstract void leave(S last);

    /** Ends a session that no new call can find. */
    protected abstract void end(S last);

    /** Makes the exception of a call while the driver is closed. */
    protected abstract CuFileException closed(String function);

    /** Makes a call that belongs to no transfer, during which the session does not end. */
    protected <T> T whileOpen(String function, Supplier<T> call) {
        current(function);
        return call.get();
    }

    private void runWhileOpen(String function, Runnable call) {
        whileOpen(function, () -> {
            call.run();
            return true;
        });
    }

    /** Returns the session of the open driver, or null while the driver is closed. */
    protected final @Nullable S session() {
        return session;
    }

    /**
     * Returns the session of the open driver.
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED while the driver is closed
     */
    protected final S current(String function) {
        S open = session;
        if (open == null) {
            throw closed(function);
        }
        return open;
    }

    /** Returns the session of the open driver; opens the driver if it is closed. */
    protected final S openImplicitly() {
        S open = session;
        if (open != null) {
            return open;
        }
        synchronized (this) {
            if (session == null) {
                driverOpen();
            }
            return current("cuFileDriverOpen");
        }
    }

    @Override
    public final synchronized void driverOpen() {
        if (session == null) {
            session = openSession();
        }
        users++;
    }

    @Override
    public final void driverClose() {
        S last = null;
        synchronized (this) {
            S open = session;
            if (open == null) {
                throw CuFileException.of(
                        CuFileError.DRIVER_NOT_INITIALIZED, "cuFileDriverClose", "the driver is not open");
            }
            users--;
            if (users == 0) {
                last = open;
                leave(open);
                session = null;
            }
        }
        if (last != null) {
            try {
                end(last);
            } finally {
                statistics.close();
            }
        }
    }

    @Override
    public final synchronized long useCount() {
        return users;
    }

    @Override
    public final Map<IoPath, Long> bytesByPath() {
        return pathBytes.snapshot();
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
        runWhileOpen("cuFileStatsStart", statistics::start);
    }

    @Override
    public final void statsStop() {
        runWhileOpen("cuFileStatsStop", statistics::stop);
    }

    @Override
    public final void statsReset() {
        runWhileOpen("cuFileStatsReset", statistics::reset);
    }

    @Override
    public final StatisticsLevel1 getStatsL1() {
        return whileOpen("cuFileGetStatsL1", statistics::level1);
    }

    @Override
    public final StatisticsLevel2 getStatsL2() {
        return whileOpen("cuFileGetStatsL2", statistics::level2);
    }

    @Override
    public final StatisticsLevel3 getStatsL3() {
        return whileOpen("cuFileGetStatsL3", statistics::level3);
    }
}
