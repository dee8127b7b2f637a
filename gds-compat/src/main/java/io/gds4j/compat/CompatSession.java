package io.gds4j.compat;

import io.gds4j.compat.SessionLog.Severity;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.StreamWaits;
import io.gds4j.ffi.exit.ExitTask;
import io.gds4j.ffi.memory.AvailableHostMemory;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.ffi.statistics.CuFileCounters;
import io.gds4j.ffi.statistics.PathCounters;
import io.gds4j.internal.lifetime.InFlight;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.DriverLimits;
import io.gds4j.spi.FileSource;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.function.LongConsumer;

/**
 * Everything that lives while the driver is open: descriptors, registrations, slabs, threads. Made by the first open, closed by
 * the last close after the I/O in flight.
 */
final class CompatSession {
    private static final String REGISTER = "cuFileHandleRegister";
    private static final Duration EXIT_WAIT = Duration.ofSeconds(5);
    private static final Duration EXIT_POLL = Duration.ofMillis(1);

    private final Posix posix;
    private final SessionLog log;
    private final PathCounters counters;
    private final IoPolicy policy;
    private final boolean allowSystemMemory;
    private final Optional<CudaContexts> contexts;
    private final DescriptorTable descriptors;
    private final BufferTable buffers;
    private final BouncePool pool;
    private final TransferEngine engine;
    private final RequestPlanner planner;
    private final IoUringUse ioUring;
    private final BatchDesk batches;
    private final StreamDesk streams;
    private final InFlight inFlight = InFlight.ofManyThreads();
    private final Set<CompatFile> files = new HashSet<>();

    /** The callers' descriptors that {@link #files} were registered by; guarded by the same lock. */
    private final Set<CompatFile.CallerDescriptor> callerDescriptors = new HashSet<>();

    private final ExitTask exitTask;
    private volatile boolean exiting;

    CompatSession(Posix posix, Optional<CudaContexts> contexts, CuFileConfig config, DriverLimits limits,
            PathCounters counters, CuFileCounters statistics) {
        this.posix = posix;
        this.log = SessionLog.open(config);
        this.counters = counters;
        this.contexts = contexts;
        this.policy = IoPolicy.of(config);
        this.allowSystemMemory = config.get(CuFileKeys.ALLOW_SYSTEM_MEMORY);
        this.descriptors = new DescriptorTable(posix);
        this.buffers = new BufferTable(limits::maxPinnedKb, bounds(contexts));
        BouncePool.Pinning pinning =
                contexts.<BouncePool.Pinning>map(known -> new GpuPinning(known, log)).orElse(BouncePool.Pinning.NONE);
        this.pool = new BouncePool(
                posix, pinning, config, contexts.map(CudaContexts::streamWaits).orElseGet(StreamWaits::new));
        PieceIo io = new PieceIo(posix, counters);
        CudaContexts known = contexts.orElse(null);
        this.ioUring = new IoUringUse(posix, config.get(CuFileKeys.PREFER_IOURING));
        Parallelism parallelism = Parallelism.of(config, Runtime.getRuntime().availableProcessors());
        this.engine = new TransferEngine(
                parallelism,
                heedsInterrupts -> new Lane(
                        heedsInterrupts, posix, io, pool, known, new RingTransfers(ioUring, counters)),
                locality(contexts, parallelism.workers() + 1));
        this.planner = new RequestPlanner(
                posix, policy, limits, pool.pieceSize(), engine, new AvailableHostMemory()::bytes);
        this.batches = new BatchDesk(
                this, config.get(CuFileKeys.IO_BATCHSIZE).intValue(),
                ioUring.isOn() ? RequestRunners.withRings(engine) : new RequestRunners(engine), statistics);
        boolean parallel = config.get(CuFileKeys.PARALLEL_IO) && config.get(CuFileKeys.MAX_IO_THREADS) > 0;
        this.streams = new StreamDesk(this, contexts, engine, pool, parallel);
        this.exitTask = ExitTask.register("cuFileDriverOpen", "gds4j-exit", this::drainForExit);
        log.log(
                Severity.INFO,
                "driver open: POSIX engine, %s, slabs of %s KiB",
                contexts.isPresent() ? "CUDA driver" : "no CUDA driver",
                config.get(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB));
    }

    private IntConsumer locality(Optional<CudaContexts> gpus, int least) {
        return gpus.map(known -> new GpuLocality(posix, known.cuda(), Path.of("/sys"), least))
                .<IntConsumer>map(known -> known::moveNear)
                .orElse(gpu -> {
                    // no GPU whose threads could be near it
                });
    }

    private static Consumer<MemoryRange> bounds(Optional<CudaContexts> contexts) {
        return contexts.map(AllocationBounds::new).<Consumer<MemoryRange>>map(known -> known::check).orElse(range -> {
            // host memory: nobody knows where an allocation ends
        });
    }

    long peakStagingBytes() {
        return pool.peakBytes();
    }

    long stagingBytes() {
        return pool.bytesInUse();
    }

    /** Whether io_uring is used, or why not. */
    String ioUring() {
        return ioUring.state();
    }

    /** Calls, entries of batches and operations of streams that are not over. */
    long queueDepth() {
        return inFlight.users() + batches.atWork() + streams.pending();
    }

    SessionLog log() {
        return log;
    }

    StreamDesk streams() {
        return streams;
    }

    BatchDesk batches() {
        return batches;
    }

    BufferTable buffers() {
        return buffers;
    }

    /** Counts a call in; it must be counted out by {@link #exit}. */
    void enter(String function) {
        if (exiting) {
            throw CuFileException.of(CuFileError.DRIVER_CLOSING, function, "the JVM is exiting");
        }
        enterToEnd(function);
    }

    /** The same for what gives something back: a program may do so while the JVM exits. */
    void enterToEnd(String function) {
        if (!inFlight.enter()) {
            throw closed(function);
        }
    }

    /**
     * The JVM exits: refuses new calls and waits for those at work, so that the GPU's driver is not torn down under a copy;
     * but only so long, because a dead disk must not hold the exit up.
     */
    private void drainForExit() {
        exiting = true;
        batches.cancelAll();
        engine.stopForExit();
        long deadline = System.nanoTime() + EXIT_WAIT.toNanos();
        while (queueDepth() > 0 && System.nanoTime() < deadline) {
            LockSupport.parkNanos(EXIT_POLL.toNanos());
        }
        streams.releaseForExit();
    }

    void exit() {
        inFlight.exit();
    }

    static CuFileException closed(String function) {
        return CuFileException.builder(function)
                .error(CuFileError.DRIVER_NOT_INITIALIZED)
                .errno(Errno.EINVAL)
                .detail("the driver is closed")
                .build();
    }

    CompatFile register(FileSource source) {
        // By instanceof: a pattern switch would make a class in the time of a program's first file.
        if (source instanceof FileSource.Named named) {
            FilePair pair = descriptors.open(named);
            return add(new CompatFile(this, posix, pair, Optional.of(named.path()), policy.isDirect(named.direct()),
                    named.drop(), null));
        }
        return register((FileSource.Descriptor) source);
    }

    private CompatFile register(FileSource.Descriptor source) {
        int flags = posix.fcntl(source.fd(), PosixConstants.F_GETFL, 0);
        StatxResult status = posix.statx(source.fd());
        if (flags < 0 || status.error() != 0) {
            throw PosixErrors.failure(REGISTER, "fcntl", flags < 0 ? flags : status.error())
                    .error(CuFileError.INVALID_VALUE)
                    .detail("file descriptor " + source.fd() + " is not open")
                    .build();
        }
        Optional<Path> path = DescriptorPath.of(source.fd());
        DescriptorTable.checkType(status, path);
        if ((flags & PosixConstants.O_APPEND) != 0) {
            throw openFlag(path, "O_APPEND: the kernel would ignore offsets");
        }
        if ((flags & PosixConstants.O_PATH) != 0) {
            throw openFlag(path, "O_PATH: the descriptor cannot do I/O");
        }
        CompatFile.CallerDescriptor caller =
                new CompatFile.CallerDescriptor(source.fd(), DescriptorTable.key(status, flags));
        synchronized (files) {
            if (!callerDescriptors.add(caller)) {
                throw CuFileException.builder(REGISTER)
                        .error(CuFileError.HANDLE_ALREADY_REGISTERED)
                        .path(path)
                        .detail("file descriptor " + source.fd() + " is registered already")
                        .build();
            }
        }
        boolean registered = false;
        try {
            FilePair pair = descriptors.open(source, status, flags);
            boolean direct = policy.isDirect((flags & PosixConstants.O_DIRECT) != 0);
            CompatFile file = add(new CompatFile(this, posix, pair, path, direct, false, caller));
            registered = true;
            return file;
        } finally {
            if (!registered) {
                synchronized (files) {
                    callerDescriptors.remove(caller);
                }
            }
        }
    }

    private static CuFileException openFlag(Optional<Path> path, String detail) {
        return CuFileException.builder(REGISTER)
                .error(CuFileError.INVALID_FILE_OPEN_FLAG)
                .path(path)
                .detail(detail)
                .build();
    }

    private CompatFile add(CompatFile file) {
        synchronized (files) {
            files.add(file);
        }
        if (log.isOn(Severity.DEBUG)) {
            log.log(
                    Severity.DEBUG,
                    "cuFileHandleRegister path=%s direct=%s",
                    file.path().map(Path::toString).orElse("unknown"),
                    file.isDirect());
        }
        return file;
    }

    /** Ignores a file that is not registered. */
    void deregister(CompatFile file) {
        if (file.belongsTo(this)) {
            file.awaitOperations();
        }
        boolean mine;
        synchronized (files) {
            mine = files.remove(file);
            if (mine && file.callerDescriptor() != null) {
                callerDescriptors.remove(file.callerDescriptor());
            }
        }
        if (mine && file.endRegistration()) {
            descriptors.release(file.pair());
        }
        log.log(Severity.DEBUG, "cuFileHandleDeregister path=%s known=%s", file.path().orElse(null), mine);
    }

    /** Moves the bytes of a request whose caller waits. */
    long transfer(
            String function,
            boolean write,
            CompatFile file,
            MemoryRange memory,
            long size,
            long fileOffset,
            long bufferOffset) {
        checkAllowed(memory, function);
        Lane lane = engine.borrowLane();
        try {
            return move(lane, file, memory, size, fileOffset, bufferOffset, write, function, size);
        } finally {
            engine.giveBack(lane);
        }
    }

    /** Moves the bytes of a batch's entry or a stream's operation, on a thread for which no caller waits. */
    long perform(Lane lane, BatchRequest entry, String function) {
        CompatFile file = check(entry, function);
        if (entry.size() == 0) {
            return 0;
        }
        checkAllowed(entry.memory(), function);
        return move(lane, file, entry.memory(), entry.size(), entry.fileOffset(), entry.bufferOffset(), entry.write(),
                function, entry.size());
    }

    /** The file, if the request is in order. */
    CompatFile check(BatchRequest entry, String function) {
        CompatFile file = CompatFile.own(this, entry.file(), function);
        RequestArguments.check(
                function, file, entry.memory(), entry.size(), entry.fileOffset(), entry.bufferOffset(),
                entry.write());
        return file;
    }

    /**
     * Moves a part of a stream's operation that is in order between the file and host memory of ours.
     *
     * @param operation bytes of all parts
     * @param arrived told of a read's bytes that are there, from the first on without a gap
     */
    long performPart(Lane lane, BatchRequest part, String function, long operation, LongConsumer arrived) {
        lane.hostTransfer().tell(arrived);
        return move(lane, CompatFile.own(this, part.file(), function), part.memory(), part.size(), part.fileOffset(),
                part.bufferOffset(), part.write(), function, operation);
    }

    private void checkAllowed(MemoryRange memory, String function) {
        if (memory.kind().isHost() && !allowSystemMemory) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID,
                    function,
                    "properties.allow_system_memory is false and the memory is the host's");
        }
    }

    private long move(
            Lane lane,
            CompatFile file,
            MemoryRange memory,
            long size,
            long fileOffset,
            long bufferOffset,
            boolean write,
            String function,
            long operation) {
        Transfer transfer = transfer(lane, memory, bufferOffset, write, function);
        long largest = planner.largestPiece();
        engine.enter(memory, size, largest);
        try {
            int threads = planner.plan(
                    transfer.plan(), file, memory, size, fileOffset, bufferOffset, write, operation);
            transfer.begin(file.pair(), threads);
            transfer.helpedBy(engine.crew(memory));
            if (!write) {
                execute(transfer, lane);
                planner.tidy(transfer.plan(), file.pair());
                return transfer.result(function, file.path());
            }
            RequestPlan plan = transfer.plan();
            RangeLocks locks = file.pair().locks();
            RangeLocks.Hold hold = locks.acquire(
                    plan.offset(), plan.end(), plan.directFrom(), plan.directTo(), lane.heedsInterrupts());
            if (hold == null) {
                transfer.cancel();
                return transfer.result(function, file.path());
            }
            try {
                execute(transfer, lane);
                return transfer.result(function, file.path());
            } finally {
                locks.release(hold);
            }
        } catch (CuFileException e) {
            log.failed(e);
            throw e;
        } finally {
            engine.leave(memory, size, largest);
            transfer.end();
            Reference.reachabilityFence(memory);
            if (log.isOn(Severity.TRACE)) {
                log.log(
                        Severity.TRACE,
                        "%s path=%s offset=%d size=%d memory=%s direct=%s",
                        function,
                        file.path().orElse(null),
                        fileOffset,
                        size,
                        memory.kind(),
                        transfer.plan().hasDirect());
            }
        }
    }

    /**
     * While many streams wait for us, what one of them waits for is moved by its own thread alone: a worker that meets its first
     * copy then would have to wait for them.
     */
    private void execute(Transfer transfer, Lane lane) {
        if (transfer.usesGpu() && !lane.heedsInterrupts() && pool.waits().many()) {
            transfer.run(lane);
        } else {
            engine.execute(transfer, lane);
        }
    }

    private Transfer transfer(Lane lane, MemoryRange memory, long bufferOffset, boolean write, String function) {
        if (memory.kind().isHost()) {
            lane.hostTransfer().target(memory, bufferOffset, write, engine.helper());
            return lane.hostTransfer();
        }
        GpuContextCache contexts = lane.contextCache();
        if (contexts == null) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, function, "there is no CUDA driver for " + memory);
        }
        GpuContext context = contexts.of(memory);
        boolean byProcessor = copiesByProcessor(memory);
        if (write) {
            lane.deviceWrite().source(context, memory.address() + bufferOffset, byProcessor);
            return lane.deviceWrite();
        }
        lane.deviceRead().target(context, memory.address() + bufferOffset, byProcessor);
        return lane.deviceRead();
    }

    /**
     * True for managed memory while streams may wait for us: the driver's copies of it wait for all streams first, and those in
     * turn might wait for the copy.
     */
    boolean copiesByProcessor(MemoryRange memory) {
        return memory.kind() == MemoryKind.CUDA_MANAGED && (pool.mayBeParked() || pool.waits().any())
                && sharesManaged(memory);
    }

    /** True unless it is managed memory that processors may not touch while its GPU works. */
    boolean sharesManaged(MemoryRange memory) {
        return memory.kind() != MemoryKind.CUDA_MANAGED
                || contexts.isPresent() && contexts.get().sharesManagedMemory(memory.device());
    }

    /** Small reads that are done together; those that are not stay {@link DeviceReadGroup#UNDONE}. */
    long[] readTogether(Lane lane, List<BatchRequest> entries) {
        try {
            long[] results = lane.deviceReadGroup().read(this, lane, entries, planner.largestPiece());
            lane.ringTransfers().move(this, entries, results);
            return results;
        } finally {
            Reference.reachabilityFence(entries);
        }
    }

    /** Decides how a request is served. */
    RequestPlanner planner() {
        return planner;
    }

    /** Waits for the I/O in flight, then drops all registrations and frees everything. */
    void close() {
        inFlight.close();
        streams.close();
        batches.close();
        synchronized (files) {
            files.forEach(CompatFile::endRegistration);
            files.clear();
            callerDescriptors.clear();
        }
        buffers.clear();
        engine.close();
        pool.close();
        descriptors.close();
        log.log(
                Severity.INFO,
                "driver closed: bytes by path %s, most staged %d",
                counters.snapshot(),
                pool.peakBytes());
        log.close();
        exitTask.cancel();
    }
}
