package io.gds4j.engine.statistics;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * cuFile's statistics of one backend. Each request is counted once, when it ends. While counting is off, a request reads one field.
 * Counting a request takes no lock and allocates nothing.
 *
 * <pre>{@code
 * long begun = counters.begin(Operation.READ, memory);
 * boolean succeeded = false;
 * long moved = 0;
 * try {
 *     moved = read(...);
 *     succeeded = true;
 * } finally {
 *     if (begun != 0) {
 *         counters.end(begun, path, Operation.READ, memory, size, fileOffset, bufferOffset, succeeded, moved);
 *     }
 * }
 * }</pre>
 */
public final class CuFileCounters {
    private static final int MAX_LEVEL = 3;
    private static final int MAX_GPUS = 16;
    private static final int UUID_BYTES = 16;
    private static final long MICRO = 1000;
    /** Lowest bit of a request's time: set for each request that is counted, so that the time is not 0. */
    private static final long COUNTED = 1;

    /** The next bit: the counters of its GPU know the request. */
    private static final long COUNTED_ON_GPU = 2;
    private static final OperationCount NONE = new OperationCount(0, 0);

    private final TransferCounter reads = new TransferCounter();
    private final TransferCounter writes = new TransferCounter();
    private final TransferCounter vectorReads = new TransferCounter();
    private final TransferCounter vectorWrites = new TransferCounter();
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

    /** Makes counters for the GPUs of the machine; touches none of them. */
    public CuFileCounters(CudaAvailability cuda) {
        this.gpus = new GpuCounters[Math.min(cuda.deviceCount(), MAX_GPUS)];
        for (int i = 0; i < gpus.length; i++) {
            int gpu = i;
            gpus[i] = new GpuCounters(cuda.cuda().map(driver -> uuid(driver, gpu)).orElse(""));
        }
    }

    /** Returns 32 hexadecimal digits; empty if the driver does not know. */
    private static String uuid(Cuda cuda, int gpu) {
        int[] device = new int[1];
        byte[] uuid = new byte[UUID_BYTES];
        boolean known = cuda.deviceGet(device, gpu) == Cuda.SUCCESS
                && cuda.deviceGetUuid(uuid, device[0]) == Cuda.SUCCESS;
        return known ? HexFormat.of().formatHex(uuid) : "";
    }

    /** The driver opens with {@code profile.cufile_stats}. Above 0 counting starts, unless the program has set a level. */
    public synchronized void open(long configured) {
        if (level == 0 && configured > 0) {
            level = (int) configured;
            started = true;
        }
        settle();
    }

    /** {@code cuFileSetStatsLevel}; INVALID_VALUE outside 0 to 3. */
    public synchronized void setLevel(int value) {
        if (value < 0 || value > MAX_LEVEL) {
            throw CuFileException.invalid("cuFileSetStatsLevel", "level is %s, allowed: 0 to 3".formatted(value));
        }
        level = value;
        settle();
    }

    /** {@code cuFileGetStatsLevel}. */
    public int level() {
        return level;
    }

    /** {@code cuFileStatsStart}. */
    public synchronized void start() {
        started = true;
        settle();
    }

    /** {@code cuFileStatsStop}; what was counted stays. */
    public synchronized void stop() {
        started = false;
        settle();
    }

    private void settle() {
        counted = started ? level : 0;
    }

    /** The driver closes: counting stops and all counts are 0. */
    public synchronized void close() {
        stop();
        reset();
    }

    /** {@code cuFileStatsReset}. */
    public synchronized void reset() {
        reads.reset();
        writes.reset();
        vectorReads.reset();
        vectorWrites.reset();
        handleRegistrations.reset();
        handleDeregistrations.reset();
        bufferRegistrations.reset();
        bufferDeregistrations.reset();
        batches.reset();
        for (GpuCounters gpu : gpus) {
            gpu.reset();
        }
    }

    /** A read or write begins. Returns its time, or 0 if it is not counted. */
    public long begin(Operation operation, MemoryRange memory) {
        if (counted == 0) {
            return 0;
        }
        long now = System.nanoTime() & ~(COUNTED | COUNTED_ON_GPU) | COUNTED;
        GpuCounters gpu = counted < MAX_LEVEL ? null : gpu(memory);
        if (gpu == null) {
            return now;
        }
        gpu.begin(operation, now);
        return now | COUNTED_ON_GPU;
    }

    /**
     * A read or write ends. One of a vector counts apart from others, and for the GPU of its first range.
     *
     * @param begun the answer of {@link #begin}, not 0
     * @param path path that serves its file
     * @param memory the memory, or the first range of a vector
     * @param size bytes requested
     * @param succeeded false if it failed
     * @param moved bytes moved
     */
    public void end(
            long begun,
            IoPath path,
            Operation operation,
            MemoryRange memory,
            long size,
            long fileOffset,
            long bufferOffset,
            boolean succeeded,
            long moved) {
        TransferCounter transfers = switch (operation) {
            case READ, STREAM_READ -> reads;
            case WRITE, STREAM_WRITE -> writes;
            case VECTOR_READ -> vectorReads;
            case VECTOR_WRITE -> vectorWrites;
        };
        long now = System.nanoTime();
        transfers.count(succeeded, moved, size, begun, now, counted >= 2);
        GpuCounters gpu = (begun & COUNTED_ON_GPU) == 0 ? null : gpu(memory);
        if (gpu != null) {
            gpu.end(path, operation, memory, size, fileOffset, bufferOffset, succeeded, moved, begun, now);
        }
    }

    private @Nullable GpuCounters gpu(MemoryRange memory) {
        int device = memory.device();
        return memory.kind().isCuda() && device >= 0 && device < gpus.length ? gpus[device] : null;
    }

    /** {@code cuFileHandleRegister}. */
    public void handleRegistered(boolean succeeded) {
        if (counted > 0) {
            handleRegistrations.count(succeeded);
        }
    }

    /** {@code cuFileHandleDeregister}. */
    public void handleDeregistered() {
        if (counted > 0) {
            handleDeregistrations.count(true);
        }
    }

    /** {@code cuFileBufRegister}. */
    public void bufferRegistered(MemoryRange memory, boolean succeeded) {
        if (counted > 0) {
            bufferRegistrations.count(succeeded);
            GpuCounters gpu = counted < MAX_LEVEL ? null : gpu(memory);
            if (gpu != null) {
                gpu.registered(succeeded, memory.length());
            }
        }
    }

    /** {@code cuFileBufDeregister}. */
    public void bufferDeregistered(MemoryRange memory, boolean succeeded) {
        if (counted > 0) {
            bufferDeregistrations.count(succeeded);
            GpuCounters gpu = counted < MAX_LEVEL || !succeeded ? null : gpu(memory);
            if (gpu != null) {
                gpu.deregistered(memory.length());
            }
        }
    }

    /** {@code cuFileBatchIOSetUp}. */
    public void batchSetUp(boolean succeeded) {
        if (counted > 0) {
            batches.setUps.count(succeeded);
        }
    }

    /**
     * {@code cuFileBatchIOSubmit}.
     *
     * @param path the path that serves an entry's file
     * @param begun time of the call, by {@link System#nanoTime}
     */
    public void batchSubmitted(
            boolean succeeded, List<BatchRequest> requests, Function<BatchRequest, IoPath> path, long begun) {
        if (counted > 0) {
            batches.submitted(succeeded, requests, path, begun, System.nanoTime());
        }
    }

    /**
     * An entry of a batch is complete.
     *
     * @param moved bytes moved
     * @param submitted time of its submission, by {@link System#nanoTime}
     */
    public void batchProcessed(IoPath path, Operation operation, boolean succeeded, long moved, long submitted) {
        if (counted > 0) {
            batches.processed(path, operation, succeeded, moved, submitted, System.nanoTime());
        }
    }

    /** {@code cuFileBatchIOGetStatus}. */
    public void batchAsked(boolean succeeded) {
        if (counted > 0) {
            batches.completes.count(succeeded);
        }
    }

    /** {@code cuFileBatchIOCancel}. */
    public void batchCancelled() {
        if (counted > 0) {
            batches.cancels.count(true);
        }
    }

    /** {@code cuFileBatchIODestroy}. */
    public void batchDestroyed() {
        if (counted > 0) {
            batches.destroys.count(true);
        }
    }

    /** {@code cuFileGetStatsL1}; INVALID_VALUE while a lower level is set. */
    public StatisticsLevel1 level1() {
        checkLevel("cuFileGetStatsL1", 1);
        return basic(System.nanoTime());
    }

    /** {@code cuFileGetStatsL2}; INVALID_VALUE while a lower level is set. */
    public StatisticsLevel2 level2() {
        checkLevel("cuFileGetStatsL2", 2);
        return detailed(System.nanoTime());
    }

    /** {@code cuFileGetStatsL3}; INVALID_VALUE while a lower level is set. */
    public StatisticsLevel3 level3() {
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
        OperationCount posixEnqueued = batches.enqueued.posix.snapshot();
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
                posixEnqueued,
                batches.processed.snapshot(),
                batches.processed.posix.snapshot(),
                batches.enqueued.nvfs.snapshot(),
                batches.enqueued.p2p.snapshot(),
                NONE,
                NONE,
                posixEnqueued,
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
                batches.lastWriteBytes,
                vectorReads.calls().snapshot(),
                vectorWrites.calls().snapshot(),
                vectorReads.bytes(),
                vectorReads.bytesPerSecond(now),
                vectorReads.averageMicros(),
                vectorReads.callsPerSecond(now),
                vectorReads.micros(),
                vectorWrites.bytes(),
                vectorWrites.bytesPerSecond(now),
                vectorWrites.averageMicros(),
                vectorWrites.callsPerSecond(now),
                vectorWrites.micros());
    }

    private void checkLevel(String function, int needed) {
        if (level < needed) {
            throw CuFileException.invalid(function,
                    "the level is %s, this needs %s: call statistics().setLevel(%s), or set profile.cufile_stats"
                            .formatted(level, needed, needed));
        }
    }
}
