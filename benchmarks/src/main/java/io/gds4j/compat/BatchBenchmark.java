package io.gds4j.compat;

import io.gds4j.CuFileOpenOption;
import io.gds4j.compat.batch.CoalescedDeviceReads;
import io.gds4j.compat.batch.CompatBatch;
import io.gds4j.compat.batch.CompatBatches;
import io.gds4j.compat.batch.CompatEntryRunner;
import io.gds4j.compat.batch.EntryRunner;
import io.gds4j.compat.batch.IoUringUse;
import io.gds4j.compat.batch.RequestRunners;
import io.gds4j.compat.batch.UringTransfers;
import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.plan.Parallelism;
import io.gds4j.compat.work.RequestContext;
import io.gds4j.compat.work.TransferEngine;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.staging.GpuPinning;
import io.gds4j.engine.staging.Pinning;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.DriverLimits;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A batch of 128 reads of 4 KiB, submitted and waited for: time per read. {@code -p memory=CUDA_DEVICE} on a GPU;
 * {@code -p direct=true} never asks the page cache; the folder is {@code -Dgds4j.benchmark.folder}.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class BatchBenchmark {
    private static final int COUNT = 128;
    private static final int SIZE = 4096;
    private static final int FILE_BYTES = 64 << 20;

    @Param("HOST")
    private MemoryKind memory;

    @Param("false")
    private boolean direct;

    /** In the order of the file, or anywhere. */
    @Param("false")
    private boolean scattered;

    @Param("16")
    private int runners;

    @Param("4")
    private int perRunner;

    private final Posix posix = FfmPosix.instance();
    private final CudaAvailability cuda = CudaDriver.detect();
    private final Random random = new Random(7);
    private NativeMemoryAllocator allocator;
    private MemoryAllocation allocation;
    private CompatSession session;
    private TransferEngine engine;
    private BouncePool pool;
    private CompatBatches desk;
    private CompatBatch batch;
    private CompatFile file;
    private Path path;
    private long next;

    /** A file, a session, and threads as asked. */
    @Setup
    public void open() throws IOException {
        String folder = System.getProperty("gds4j.benchmark.folder", System.getProperty("java.io.tmpdir"));
        path = Files.write(Files.createTempFile(Path.of(folder), "batch", null), new byte[FILE_BYTES]);
        CuFileConfig config = CuFileConfig.builder().set(CuFileKeys.FORCE_ODIRECT_MODE, direct).build();
        Optional<CudaContexts> contexts = memory.isCuda() ? cuda.cudaContexts() : Optional.empty();
        CuFileCounters statistics = new CuFileCounters(cuda);
        PathCounters counters = new PathCounters();
        SessionLog log = SessionLog.open(config);
        session = new CompatSession(posix, contexts, config, new DriverLimits(config), counters, statistics);
        Pinning pinning =
                contexts.<Pinning>map(known -> new GpuPinning(known, System.err::println))
                        .orElse(Pinning.NONE);
        pool = new BouncePool(posix, pinning, config);
        engine = new TransferEngine(
                Parallelism.of(config, Runtime.getRuntime().availableProcessors()),
                heedsInterrupts -> new ThreadContext(heedsInterrupts, posix, counters, pool, contexts.orElse(null)),
                gpu -> {
                },
                contexts.isPresent());
        Function<RequestContext, EntryRunner> makeRunner = context -> {
            UringTransfers none = new UringTransfers(session.executor(), new IoUringUse(posix, false), counters);
            CoalescedDeviceReads deviceReads = new CoalescedDeviceReads(context.thread(), session.executor(), none);
            return new CompatEntryRunner(context, session.executor(), deviceReads, none, statistics, log);
        };
        desk = new CompatBatches(
                session.executor(), COUNT, new RequestRunners(engine, makeRunner, runners, perRunner), statistics,
                log);
        batch = desk.setUp(COUNT);
        file = session.files().register(
                direct
                        ? FileSource.Named.of(path, StandardOpenOption.READ, CuFileOpenOption.DIRECT)
                        : FileSource.Named.of(path, StandardOpenOption.READ));
        allocator = new NativeMemoryAllocator(posix, cuda);
        allocation = allocator.allocate(memory, (long) COUNT * SIZE, memory.isCuda() ? 0 : MemoryRange.NO_DEVICE);
        allocator.fill(allocation.range(), (byte) 1);
    }

    /** Nothing is left. */
    @TearDown
    public void close() throws IOException {
        desk.close();
        engine.close();
        pool.close();
        session.close();
        allocation.close();
        allocator.close();
        Files.delete(path);
    }

    /** Submit, and wait for all. */
    @Benchmark
    @OperationsPerInvocation(COUNT)
    public List<BatchEvent> batchOf128() {
        List<BatchRequest> requests = new ArrayList<>(COUNT);
        for (int i = 0; i < COUNT; i++) {
            long at = scattered ? random.nextInt(FILE_BYTES / SIZE) : (next + i) % (FILE_BYTES / SIZE);
            requests.add(
                    new BatchRequest(file, Operation.READ, allocation.range(), SIZE, at * SIZE, (long) i * SIZE, i));
        }
        next += COUNT;
        desk.submit(batch, requests);
        return desk.status(batch, COUNT, COUNT, Optional.empty());
    }
}
