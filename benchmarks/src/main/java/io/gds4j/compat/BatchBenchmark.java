package io.gds4j.compat;

import io.gds4j.CuFileOpenOption;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.memory.NativeMemoryAllocator;
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
import io.gds4j.spi.BackendBatch;
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

    private final Posix posix = FfmPosix.instance();
    private final CudaAvailability cuda = CudaDriver.detect();
    private final Random random = new Random(7);
    private NativeMemoryAllocator allocator;
    private MemoryAllocation allocation;
    private CompatSession session;
    private BackendBatch batch;
    private CompatFile file;
    private Path path;
    private long next;

    /** A file and a session. */
    @Setup
    public void open() throws IOException {
        String folder = System.getProperty("gds4j.benchmark.folder", System.getProperty("java.io.tmpdir"));
        path = Files.write(Files.createTempFile(Path.of(folder), "batch", null), new byte[FILE_BYTES]);
        CuFileConfig config = CuFileConfig.builder().set(CuFileKeys.FORCE_ODIRECT_MODE, direct).build();
        Optional<CudaContexts> contexts = memory.isCuda() ? cuda.cudaContexts() : Optional.empty();
        session = new CompatSession(posix, contexts, config, new DriverLimits(config), new PathCounters(),
                new CuFileCounters(cuda));
        batch = session.batches().setUp(COUNT);
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
        session.batches().submit(batch, requests);
        return session.batches().status(batch, COUNT, COUNT, Optional.empty());
    }
}
