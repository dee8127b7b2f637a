package io.gds4j.compat;

import io.gds4j.compat.batch.CompatBatches;
import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.file.IoPolicy;
import io.gds4j.compat.file.RegisteredFiles;
import io.gds4j.compat.file.RequestLog.Severity;
import io.gds4j.compat.plan.Parallelism;
import io.gds4j.compat.plan.TransferPlanner;
import io.gds4j.compat.transfer.RequestExecutor;
import io.gds4j.compat.work.TransferEngine;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.lifecycle.ExitTask;
import io.gds4j.engine.memory.AvailableHostMemory;
import io.gds4j.engine.memory.RegisteredBuffers;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.staging.PreparedGpus;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.internal.lifetime.InFlight;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.DriverLimits;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;

/**
 * An open driver: its descriptors, registrations, slabs and threads. The first open creates the session. The last close waits for
 * the I/O in flight and closes the session.
 */
final class CompatSession {
    /** Longest wait for the I/O in flight when the JVM exits. */
    private static final Duration EXIT_WAIT = Duration.ofSeconds(5);

    /** Longest wait at exit while no byte moves and only files are waited for: a dead disk must not delay the exit. */
    private static final Duration EXIT_PATIENCE = Duration.ofSeconds(1);
    private static final Duration EXIT_POLL = Duration.ofMillis(1);

    /** Callers for which slabs are made beside those of the workers; each reads 16 MiB at a time without waiting for slabs of others. */
    private static final int CALLERS = 16;

    private final Posix posix;
    private final SessionLog log;
    private final PathCounters counters;
    private final RegisteredFiles files;
    private final AllocationBounds bounds;

    /** Kept for cuFile's answers only: the POSIX engine needs no registration. */
    private final RegisteredBuffers<MemoryRange> buffers;

    private final BouncePool pool;
    private final Optional<PreparedGpus> gpus;
    private final TransferEngine engine;
    private final RequestExecutor executor;
    private final CompatBatches batches;
    private final CompatStreams streams;
    private final InFlight inFlight = InFlight.ofManyThreads();
    private final ExitTask exitTask;
    private volatile boolean exiting;

    CompatSession(Posix posix, Optional<CudaContexts> contexts, CuFileConfig config, DriverLimits limits,
            PathCounters counters, CuFileCounters statistics) {
        this.posix = posix;
        this.log = SessionLog.open(config);
        this.counters = counters;
        IoPolicy policy = IoPolicy.of(config);
        this.files = new RegisteredFiles(posix, policy, log);
        this.bounds = new AllocationBounds(contexts);
        this.buffers = new RegisteredBuffers<>(limits::maxPinnedKb);
        Parallelism parallelism = Parallelism.of(config, Runtime.getRuntime().availableProcessors());
        this.pool = new BouncePool(posix, contexts, log::warn, config, parallelism.workers() + CALLERS);
        this.gpus = contexts.map(known -> new PreparedGpus(known, pool));
        PreparedGpus prepared = gpus.orElse(null);
        this.engine = new TransferEngine(
                parallelism,
                heedsInterrupts -> new ThreadContext(heedsInterrupts, posix, counters, pool, contexts.orElse(null)),
                TransferEngine.moveNear(posix, contexts, parallelism.workers() + 1),
                contexts.isPresent());
        gpus.ifPresent(all -> all.helpedBy(engine::prepareBeside));
        TransferPlanner planner = new TransferPlanner(
                posix, policy, limits, pool.pieceSize(), parallelism, engine.load(), new AvailableHostMemory()::bytes);
        this.executor = new RequestExecutor(
                files.descriptorTable(), planner, engine, pool, prepared, config.get(CuFileKeys.ALLOW_SYSTEM_MEMORY),
                log);
        this.batches = new CompatBatches(posix, config, engine, executor, counters, statistics, log);
        boolean parallel = config.get(CuFileKeys.PARALLEL_IO) && config.get(CuFileKeys.MAX_IO_THREADS) > 0;
        this.streams = new CompatStreams(executor, log, contexts, engine, gpus, parallel);
        this.exitTask = ExitTask.register("cuFileDriverOpen", "gds4j-exit", this::drainForExit);
        log.log(
                Severity.INFO,
                "driver open: POSIX engine, %s, slabs of %s KiB",
                contexts.isPresent() ? "CUDA driver" : "no CUDA driver",
                config.get(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB));
    }

    long peakStagingBytes() {
        return pool.peakBytes();
    }

    long stagingBytes() {
        return pool.bytesInUse();
    }

    /** Returns whether io_uring is used, or why not. */
    String ioUring() {
        return batches.ioUring();
    }

    /** Returns the number of calls, entries of batches and operations of streams that are not over. */
    long queueDepth() {
        return inFlight.users() + batches.atWork() + streams.pending();
    }

    RegisteredFiles files() {
        return files;
    }

    RequestExecutor executor() {
        return executor;
    }

    CompatStreams streams() {
        return streams;
    }

    CompatBatches batches() {
        return batches;
    }

    /** Has the workers of a GPU prepare for requests, because the program will use much of its memory. */
    void expect(int gpu) {
        gpus.ifPresent(known -> known.expect(gpu));
    }

    /** Prepares a GPU for requests; returns once all is made, at once if the driver closes. */
    void prepare(int gpu) {
        if (gpus.isPresent() && inFlight.enter()) { // an allocator outlives its driver
            try {
                gpus.get().prepare(gpu);
            } finally {
                inFlight.exit();
            }
        }
    }

    /** Makes slabs that requests have lacked. Called while the program allocates memory of a GPU. */
    void growSlabs() {
        pool.grow();
    }

    /** Unpins and unmaps idle slabs. The next use of a GPU makes again what it needs. */
    void trim() {
        pool.trim();
    }

    void registerBuffer(MemoryRange range) {
        bounds.check(range);
        buffers.add(range, range);
    }

    void deregisterBuffer(MemoryRange range) {
        buffers.remove(range);
    }

    /** Counts a call in; {@link #exit} counts it out. */
    void enter(String function) {
        if (exiting) {
            throw CuFileException.of(CuFileError.DRIVER_CLOSING, function, "the JVM is exiting");
        }
        enterToEnd(function);
    }

    /** Counts in a function that releases something: a program may call it while the JVM exits. */
    void enterToEnd(String function) {
        if (!inFlight.enter()) {
            throw closed(function);
        }
    }

    /**
     * Refuses new calls because the JVM exits, and waits for those at work for a limited time, so that the CUDA driver is not
     * torn down during a copy.
     */
    private void drainForExit() {
        exiting = true;
        batches.cancelAll();
        engine.stopForExit();
        files.cancelSourcesForExit();
        long begun = System.nanoTime();
        long now = begun;
        long movedAt = begun;
        long moved = counters.total();
        while ((queueDepth() > 0 || engine.isPreparing())
                && now - begun < EXIT_WAIT.toNanos()
                && now - movedAt < EXIT_PATIENCE.toNanos()) {
            LockSupport.parkNanos(EXIT_POLL.toNanos());
            now = System.nanoTime();
            long total = counters.total();
            if (total != moved || mayWaitForGpus()) {
                moved = total;
                movedAt = now;
            }
        }
        streams.releaseForExit();
    }

    /** Returns whether work in flight may wait for the CUDA driver: for streams, or to make what requests need. A copy takes no second. */
    private boolean mayWaitForGpus() {
        return streams.pending() > 0 || engine.isPreparing() || gpus.filter(PreparedGpus::isPreparing).isPresent();
    }

    void exit() {
        inFlight.exit();
    }

    static CuFileException closed(String function) {
        return CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, Errno.EINVAL, function, "the driver is closed");
    }

    /** Waits for the I/O in flight, then drops all registrations and frees everything. */
    void close() {
        inFlight.close();
        streams.close();
        batches.close();
        buffers.removeAll();
        engine.close();
        gpus.ifPresent(PreparedGpus::close);
        pool.close();
        files.close();
        log.log(
                Severity.INFO,
                "driver closed: bytes by path %s, most staged %s",
                counters.snapshot(),
                pool.peakBytes());
        log.close();
        exitTask.cancel();
    }
}
