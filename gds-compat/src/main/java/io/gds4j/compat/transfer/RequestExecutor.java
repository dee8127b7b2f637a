package io.gds4j.compat.transfer;

import io.gds4j.compat.deliver.PeerGroups;
import io.gds4j.compat.deliver.ScatterTransfer;
import io.gds4j.compat.deliver.Transfer;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.DescriptorTable;
import io.gds4j.compat.file.FileDescriptors;
import io.gds4j.compat.file.RangeLocks;
import io.gds4j.compat.file.RequestLog;
import io.gds4j.compat.file.RequestLog.Severity;
import io.gds4j.compat.plan.TransferCourse;
import io.gds4j.compat.plan.TransferPlan;
import io.gds4j.compat.plan.TransferPlanner;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.compat.plan.Workload;
import io.gds4j.compat.work.RequestContext;
import io.gds4j.compat.work.TransferEngine;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.engine.staging.PreparedGpus;
import io.gds4j.engine.stream.StreamMover.PieceListener;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.source.Cancellation;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.spi.ResultSink;
import io.gds4j.spi.TransferArguments;
import io.gds4j.statistics.IoPath;
import java.lang.ref.Reference;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Serves all requests: calls, entries of batches and operations of streams. Thread-safe. */
public final class RequestExecutor {
    /** The path under which cuFile's statistics count all requests: to cuFile, all I/O of this backend is POSIX I/O. */
    public static final IoPath STATISTICS_PATH = IoPath.COMPAT_BUFFERED;

    private final DescriptorTable descriptorTable;
    private final TransferPlanner planner;
    private final TransferEngine engine;
    private final BouncePool pool;
    private final @Nullable PreparedGpus gpus;
    private final boolean allowSystemMemory;
    private final RequestLog log;
    private final boolean traces;
    /** Number of scattered requests so far; may wrap. */
    private final AtomicInteger scatteredRequests = new AtomicInteger();

    /**
     * @param descriptorTable descriptors of the session's files
     * @param gpus null if there is no CUDA driver
     * @param allowSystemMemory {@code properties.allow_system_memory}
     */
    public RequestExecutor(
            DescriptorTable descriptorTable,
            TransferPlanner planner,
            TransferEngine engine,
            BouncePool pool,
            @Nullable PreparedGpus gpus,
            boolean allowSystemMemory,
            RequestLog log) {
        this.descriptorTable = descriptorTable;
        this.planner = planner;
        this.engine = engine;
        this.pool = pool;
        this.gpus = gpus;
        this.allowSystemMemory = allowSystemMemory;
        this.log = log;
        this.traces = log.isOn(Severity.TRACE);
    }

    /** Moves the bytes of a call, whose thread waits. */
    public long execute(
            Operation operation, BackendFile file, MemoryRange memory, long size, long fileOffset, long bufferOffset) {
        CompatFile ours = CompatFile.own(descriptorTable, file, operation.function());
        TransferArguments.check(
                operation.function(), ours, memory, size, fileOffset, bufferOffset, operation);
        if (size == 0) {
            return 0;
        }
        checkAllowed(memory, operation);
        RequestContext context = engine.borrow(memory, operation.function());
        try {
            context.request().set(ours, memory, operation, size, fileOffset, bufferOffset);
            return move(context, operation);
        } finally {
            context.request().clear();
            engine.giveBack(context, memory);
        }
    }

    /** Moves the bytes of a call with fragments or a report, whose thread waits. */
    public long execute(BatchRequest request) {
        Operation operation = request.operation();
        CompatFile file = check(request, operation.function());
        if (request.size() == 0) {
            return 0;
        }
        checkAllowed(request, operation);
        MemoryRange memory = decisive(request);
        RequestContext context = engine.borrow(memory, operation.function());
        try {
            context.request().set(file, request).decisive(memory);
            return move(context, operation);
        } finally {
            context.request().clear();
            engine.giveBack(context, memory);
        }
    }

    /**
     * Returns the memory that decides which workers help: of fragments one. Requests take turns with the GPUs, so that the workers of all
     * GPUs take part.
     */
    private MemoryRange decisive(BatchRequest request) {
        return request.copies().isEmpty()
                ? request.memory()
                : decisive(request.copies(), scatteredRequests.getAndIncrement());
    }

    static MemoryRange decisive(List<ScatterCopy> copies, int turn) {
        long gpus = 0;
        for (ScatterCopy copy : copies) {
            gpus |= gpuBit(copy.destination().range());
        }
        int wanted = gpus == 0 ? 0 : Math.floorMod(turn, Long.bitCount(gpus));
        for (int i = 0; i < wanted; i++) {
            gpus &= gpus - 1;
        }
        long bit = Long.lowestOneBit(gpus);
        for (ScatterCopy copy : copies) {
            MemoryRange range = copy.destination().range();
            if (range.kind().isCuda() && gpuBit(range) == bit) {
                return range;
            }
        }
        return copies.getFirst().destination().range();
    }

    /** Returns the bit of the memory's GPU; 0 for host memory and for GPUs without a number below 64. */
    private static long gpuBit(MemoryRange range) {
        boolean numbered = range.kind().isCuda() && range.device() >= 0 && range.device() < Long.SIZE;
        return numbered ? 1L << range.device() : 0;
    }

    /**
     * Moves the bytes of a batch's entry or a stream's operation, on a thread for which no caller waits.
     *
     * @param cancellation ends a request that waits for memory before its first byte
     * @throws io.gds4j.error.CuFileInterruptedException if it does
     */
    public long execute(RequestContext context, Operation operation, BatchRequest entry, Cancellation cancellation) {
        CompatFile file = check(entry, operation.function());
        if (entry.size() == 0) {
            return 0;
        }
        checkAllowed(entry, operation);
        context.request().set(file, entry).decisive(decisive(entry));
        context.request().heed(cancellation);
        return moveUnattended(context, operation);
    }

    /**
     * Moves a checked part of a stream's operation between the file and a slab.
     *
     * @param total bytes of all parts
     * @param arrived hears of the pieces of a read of cached bytes
     */
    public long executePart(RequestContext context, Operation operation, BatchRequest part, long total,
            PieceListener arrived) {
        context.request().set(own(part.file(), operation.function()), part).partOf(total);
        if (!operation.isWrite()) {
            context.hostTransfer().tell(arrived);
            context.request().letGather();
        }
        return moveUnattended(context, operation);
    }

    /**
     * Checks a request and returns its file.
     *
     * @throws CuFileException for a request that is not valid
     */
    public CompatFile check(BatchRequest entry, String function) {
        CompatFile file = own(entry.file(), function);
        if (entry.copies().isEmpty()) {
            TransferArguments.check(
                    function, file, entry.memory(), entry.size(), entry.fileOffset(), entry.bufferOffset(),
                    entry.operation());
        } else {
            checkScattered(entry, file, function);
        }
        return file;
    }

    private static void checkScattered(BatchRequest entry, CompatFile file, String function) {
        TransferArguments.check(function, file, entry.memory(), 0, entry.fileOffset(), 0, entry.operation());
        if (!TransferArguments.isFileRange(entry.size(), entry.fileOffset())) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE, function,
                    String.valueOf(TransferArguments.invalidNumber(entry.size(), entry.fileOffset(), 0)));
        }
        long bytes = 0;
        for (ScatterCopy copy : entry.copies()) {
            bytes += copy.bytes();
            if (copy.sourceEnd() > entry.size()) {
                throw CuFileException.of(
                        CuFileError.INVALID_VALUE, function, "a copy ends past the file range: " + copy);
            }
        }
        if (entry.write() && bytes != entry.size()) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE, function,
                    "the copies hold %s of %s bytes of the file range".formatted(bytes, entry.size()));
        }
    }

    /**
     * Returns the file.
     *
     * @throws CuFileException HANDLE_NOT_REGISTERED if the file is not registered with this session
     */
    public CompatFile own(BackendFile file, String function) {
        return CompatFile.own(descriptorTable, file, function);
    }

    /**
     * Returns whether the thread of a request is likely to sleep until a disk answers.
     *
     * @param size bytes of the request, and of the requests that continue where it ends in the file
     */
    public boolean waitsForDisk(BatchRequest first, long size, String function) {
        return planner.waitsForDisk(own(first.file(), function), first.fileOffset(), size, first.operation());
    }

    /** Returns the planner of requests. */
    public TransferPlanner planner() {
        return planner;
    }

    private void checkAllowed(BatchRequest request, Operation operation) {
        checkAllowed(request.memory(), operation);
        for (int i = 0; i < request.copies().size(); i++) {
            checkAllowed(request.copies().get(i).destination().range(), operation);
        }
    }

    private void checkAllowed(MemoryRange memory, Operation operation) {
        if (memory.kind().isHost() && !allowSystemMemory) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID,
                    operation.function(),
                    "properties.allow_system_memory is false and the memory is the host's");
        }
    }

    private long moveUnattended(RequestContext context, Operation operation) {
        try {
            return move(context, operation);
        } finally {
            context.request().clear();
        }
    }

    private long move(RequestContext context, Operation operation) {
        TransferRequest request = context.request();
        CompatFile file = request.file();
        FileDescriptors descriptors = file.source() == null ? file.descriptors() : null;
        MemoryRange memory = request.memory();
        Transfer transfer = transfer(context, operation);
        TransferPlan plan = transfer.plan();
        long largest = planner.largestPiece();
        engine.enter(memory, request.size(), largest);
        try {
            int threads = planner.plan(plan, request);
            plan.reportTo(request.sink());
            transfer.begin();
            if (plan.isWrite() && descriptors != null) {
                write(context, transfer, threads, descriptors.locks());
            } else {
                engine.execute(context, transfer, memory, threads);
            }
            if (descriptors != null) {
                planner.tidy(plan, descriptors);
            }
            return transfer.result(operation.function(), file.path());
        } catch (CuFileException e) {
            log.failed(e);
            throw e;
        } finally {
            engine.leave(memory, request.size(), largest);
            transfer.end();
            plan.reportTo(ResultSink.NONE);
            Reference.reachabilityFence(memory);
            if (traces) {
                log.log(
                        Severity.TRACE,
                        "%s path=%s offset=%s size=%s memory=%s direct=%s",
                        operation.function(),
                        file.path().orElse(null),
                        request.fileOffset(),
                        request.size(),
                        memory.kind(),
                        plan.hasDirect());
            }
        }
    }

    /** Moves the bytes of a write while no other one of this process conflicts. */
    private void write(RequestContext context, Transfer transfer, int threads, RangeLocks locks) {
        TransferPlan plan = transfer.plan();
        RangeLocks.Hold hold = locks.acquire(
                plan.offset(), plan.end(), plan.directFrom(), plan.directTo(), context.thread().heedsInterrupts());
        if (hold == null) {
            transfer.cancel();
            return;
        }
        try {
            engine.execute(context, transfer, context.request().memory(), threads);
        } finally {
            locks.release(hold);
        }
    }

    private ScatterTransfer scatter(RequestContext context, List<ScatterCopy> copies, Operation operation) {
        ScatterTransfer transfer = context.scatterTransfer();
        transfer.target(copies);
        MemoryRange before = null;
        for (int i = 0; i < copies.size(); i++) {
            MemoryRange memory = copies.get(i).destination().range();
            if (memory == before) {
                transfer.addSame(); // without a question to the driver
            } else if (memory.kind().isHost()) {
                transfer.addHost(memory);
            } else if (copiesByProcessor(memory)) {
                transfer.addHost(MemoryRange.ofAddress(memory.address(), memory.length(), MemoryKind.HOST));
            } else {
                transfer.addGpu(gpuOf(memory, operation.function()), memory.kind());
            }
            before = memory;
        }
        if (transfer.gpus() > 1 && !operation.isWrite()) {
            transfer.exchange(PeerGroups.of(copies, transfer, gpus().links()));
            context.request().spread();
        }
        return transfer;
    }

    private PreparedGpus gpus() {
        PreparedGpus known = gpus;
        if (known == null) {
            throw new IllegalStateException("no CUDA driver");
        }
        return known;
    }

    /**
     * Returns the CUDA context of memory, of which nothing may be made yet.
     *
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID if there is no driver, CUDA_POINTER_INVALID if it does not know the address
     */
    public PreparedGpu gpuOf(MemoryRange memory, String function) {
        if (gpus == null) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, function, "there is no CUDA driver for " + memory);
        }
        return gpus.of(memory);
    }

    private Transfer transfer(RequestContext context, Operation operation) {
        MemoryRange memory = context.request().memory();
        List<ScatterCopy> copies = context.request().copies();
        if (!copies.isEmpty()) {
            ScatterTransfer scatter = scatter(context, copies, operation);
            letGather(context, scatter.onlyGpu());
            if (mayGoStraight(context.request()) && scatter.fitsStraight()) {
                context.request().goStraight();
            }
            return scatter;
        }
        if (memory.kind().isHost()) {
            context.hostTransfer().target();
            return context.hostTransfer();
        }
        PreparedGpu gpu = gpuOf(memory, operation.function());
        context.deviceTransfer().target(gpu, copiesByProcessor(memory));
        letGather(context, gpu);
        return context.deviceTransfer();
    }

    /** Returns whether no byte of a read may bypass the page cache, for which only slabs are aligned. */
    private static boolean mayGoStraight(TransferRequest request) {
        CompatFile file = request.file();
        return !request.isWrite() && file.source() == null && !file.isDirect() && !file.leavesCacheAlone();
    }

    /** Lets one kernel copy all pieces of a read to a context, if that pays and the kernel is there. */
    private void letGather(RequestContext context, @Nullable PreparedGpu gpu) {
        TransferRequest request = context.request();
        if (gpu != null && !request.isWrite() && mayGather(request.memory(), request.size())
                && context.thread().gather(gpu).isReady()) {
            request.letGather();
        }
    }

    private boolean mayGather(MemoryRange memory, long bytes) {
        if (memory.kind() == MemoryKind.CUDA_MANAGED || bytes < TransferCosts.MEASURED.leastGathered()) {
            return false; // before the load is looked up, which is dear for so few bytes
        }
        Workload load = engine.load();
        int requests = load.requests(memory) + load.alone(memory) + 1;
        return TransferCourse.mayGather(engine.parallelism(), bytes, requests)
                && TransferCosts.MEASURED.fitsCache(load.bytes(memory) + bytes);
    }

    /** Returns whether a thread copies a request's memory itself, as the driver's copies of it would wait for all streams. */
    public boolean copiesByProcessor(MemoryRange memory) {
        return gpus != null && pool.waits().leavesToProcessor(memory, gpus.contexts());
    }
}
