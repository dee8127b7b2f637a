package io.gds4j.compat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * cuFile's statistics. Each request is counted once, when it is over; while nobody counts, a request reads one field. No lock
 * is taken on the way of a request.
 */
final class CompatStatistics {
    private static final int MAX_LEVEL = 3;
    private static final int MAX_GPUS = 16;
    private static final long MICRO = 1000;
    /** Two low bits of a request's time: it is not 0, and its GPU has seen it begin. */
    private static final long COUNTED = 1;

    private static final long COUNTED_ON_GPU = 2;
    private static final OperationCount NONE = new OperationCount(0, 0);

    private final TransferCounter reads = new TransferCounter();
    private final TransferCounter writes = new TransferCounter();
    private final CallCounter handleRegistrations = new CallCounter();
    private final CallCounter handleDeregistrations = new CallCounter();
    private final CallCounter bufferRegistrations = new CallCounter();
    private final CallCounter bufferDeregistrations = new CallCounter();
    private final BatchCounters batches = new BatchCounters();
    private final GpuCounters[] gpus;

    private volatile int level;
    private volatile boolean started;

    /** {@link #level} while counting, else 0. */
    private volatile int counted;

    /**
     * @param gpuCount how many GPUs there are
     * @param uuid a GPU's identifier, 32 hexadecimal digits
     */
    CompatStatistics(int gpuCount, IntFunction<String> uuid) {
        this.gpus = new GpuCounters[Math.min(gpuCount, MAX_GPUS)];
        for (int i = 0; i < gpus.length; i++) {
            gpus[i] = new GpuCounters(uuid.apply(i));
        }
    }

    /** The driver opens with {@code profile.cufile_stats}: above 0 it counts at once, unless the program has set a level. */
    synchronized void open(long configured) {
        if (level == 0 && configured > 0) {
            level = (int) configured;
            started = true;
        }
        settle();
    }

    synchronized void setLevel(int value) {
        if (value < 0 || value > MAX_LEVEL) {
            throw invalid("cuFileSetStatsLevel", "level is %d, allowed: 0 to 3".formatted(value));
        }
        level = value;
        settle();
    }

    int level() {
        return level;
    }

    synchronized void start() {
        started = true;
        settle();
    }

    synchronized void stop() {
        started = false;
        settle();
    }

    private void settle() {
        counted = started ? level : 0;
    }

    /** Ends with the driver: a later one counts when it is told to. */
    synchronized void close() {
        stop();
        reset();
    }

    synchronized void reset() {
        reads.reset();
        writes.reset();
        handleRegistrations.reset();
        handleDeregistrations.reset();
        bufferRegistrations.reset();
        bufferDeregistrations.reset();
        batches.reset();
        for (GpuCounters gpu : gpus) {
            gpu.reset();
        }
    }

    boolean isCounting() {
        return counted > 0;
    }

    BatchCounters batches() {
        return batches;
    }

    /** A request begins: its time, or 0 if it is not counted. */
    long begin(boolean write, MemoryRange memory) {
        if (counted == 0) {
            return 0;
        }
        long now = System.nanoTime() & ~(COUNTED | COUNTED_ON_GPU) | COUNTED;
        GpuCounters gpu = counted < MAX_LEVEL ? null : gpu(memory);
        if (gpu == null) {
            return now;
        }
        gpu.begin(write, now);
        return now | COUNTED_ON_GPU;
    }

    /** It is over. */
    void end(
            long begun,
            boolean write,
            MemoryRange memory,
            long size,
            long fileOffset,
            long bufferOffset,
            boolean well,
            long moved) {
        long now = System.nanoTime();
        (write ? writes : reads).count(well, moved, size, begun, now, counted >= 2);
        GpuCounters gpu = (begun & COUNTED_ON_GPU) == 0 ? null : gpu(memory);
        if (gpu != null) {
            gpu.end(write, memory, size, fileOffset, bufferOffset, well, moved, begun, now);
        }
    }

    private @Nullable GpuCounters gpu(MemoryRange memory) {
        int device = memory.device();
        return memory.kind().isCuda() && device >= 0 && device < gpus.length ? gpus[device] : null;
    }

    void handleRegistered(boolean well) {
        if (counted > 0) {
            handleRegistrations.count(well);
        }
    }

    void handleDeregistered() {
        if (counted > 0) {
            handleDeregistrations.count(true);
        }
    }

    void bufferRegistered(MemoryRange memory, boolean well) {
        if (counted > 0) {
            bufferRegistrations.count(well);
            GpuCounters gpu = counted < MAX_LEVEL ? null : gpu(memory);
            if (gpu != null) {
                gpu.registered(well, memory.length());
            }
        }
    }

    void bufferDeregistered(MemoryRange memory, boolean well) {
        if (counted > 0) {
            bufferDeregistrations.count(well);
            GpuCounters gpu = counted < MAX_LEVEL || !well ? null : gpu(memory);
            if (gpu != null) {
                gpu.deregistered(memory.length());
            }
        }
    }

    StatisticsLevel1 level1() {
        checkLevel("cuFileGetStatsL1", 1);
        return basic(System.nanoTime());
    }

    StatisticsLevel2 level2() {
        checkLevel("cuFileGetStatsL2", 2);
        return detailed(System.nanoTime());
    }

    StatisticsLevel3 level3() {
        checkLevel("cuFileGetStatsL3", MAX_LEVEL);
        long now = System.nanoTime();
        List<GpuStatistics> each = new ArrayList<>(gpus.length);
        for (GpuCounters gpu : gpus) {
            each.add(gpu.snapshot(now));
        }
        return new StatisticsLevel3(detailed(now), each);
    }

    private StatisticsLevel2 detailed(long now) {
        return new StatisticsLevel2(basic(now), reads.histogram(), writes.histogram());
    }

    private StatisticsLevel1 basic(long now) {
        OperationCount enqueued = batches.enqueued.snapshot();
        OperationCount processed = batches.processed.snapshot();
        long submits = Math.max(1, batches.submits.total());
        long completed = Math.max(1, batches.processed.total());
        return new StatisticsLevel1(
                reads.calls().snapshot(),
                writes.calls().snapshot(),
                handleRegistrations.snapshot(),
                handleDeregistrations.snapshot(),
                bufferRegistrations.snapshot(),
                bufferDeregistrations.snapshot(),
                reads.bytes(),
                reads.bytesPerSecond(now),
                reads.averageMicros(),
                reads.callsPerSecond(now),
                reads.micros(),
                writes.bytes(),
                writes.bytesPerSecond(now),
                writes.averageMicros(),
                writes.callsPerSecond(now),
                writes.micros(),
                batches.submits.snapshot(),
                batches.completes.snapshot(),
                batches.setUps.snapshot(),
                batches.cancels.snapshot(),
                batches.destroys.snapshot(),
                enqueued,
                enqueued,
                processed,
                processed,
                NONE,
                NONE,
                NONE,
                NONE,
                enqueued,
                enqueued,
                batches.readBytes.sum(),
                batches.writeBytes.sum(),
                batches.readRate.lastSecond(now),
                batches.writeRate.lastSecond(now),
                batches.submitNanos.sum() / MICRO / submits,
                batches.completionNanos.sum() / MICRO / completed,
                batches.submitRate.lastSecond(now),
                batches.completeRate.lastSecond(now),
                batches.submitNanos.sum() / MICRO,
                batches.completionNanos.sum() / MICRO,
                batches.lastReadBytes,
                batches.lastWriteBytes);
    }

    private void checkLevel(String function, int needed) {
        if (level < needed) {
            throw invalid(function, "the level is %d, this needs %d".formatted(level, needed));
        }
    }

    private static CuFileException invalid(String function, String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, function, detail);
    }
}
