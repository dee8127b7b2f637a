package io.gds4j.compat;

import io.gds4j.compat.file.CompatFile;
import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.DriverLimits;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What counting costs a read of 512 bytes from the page cache: nothing counted, everything counted, and the same way through a
 * session without a line about statistics in it.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 2, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class StatisticsBenchmark {
    private static final int SIZE = 512;
    private static final String READ = "cuFileRead";

    private final Posix posix = FfmPosix.instance();
    private final CudaAvailability none = new CudaAvailability.Unavailable("not in this benchmark", "none");
    private CompatSession session;
    private CompatFile sessionFile;
    private CompatBackend quiet;
    private BackendFile quietFile;
    private CompatBackend counting;
    private BackendFile countingFile;
    private NativeMemoryAllocator allocator;
    private MemoryAllocation memory;
    private Path path;

    /** One session by itself and two behind backends. */
    @Setup
    public void open() throws IOException {
        path = Files.write(Files.createTempFile("statistics", null), new byte[SIZE]);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().build();
        FileSource source = FileSource.Named.of(path, StandardOpenOption.READ);
        session = new CompatSession(
                posix,
                Optional.empty(),
                config,
                new DriverLimits(config),
                new PathCounters(),
                new CuFileCounters(none));
        sessionFile = session.files().register(source);
        quiet = backend(config);
        quietFile = quiet.handleRegister(source);
        counting = backend(config);
        countingFile = counting.handleRegister(source);
        counting.controls().setStatsLevel(3);
        counting.controls().statsStart();
        allocator = new NativeMemoryAllocator(posix, none);
        memory = allocator.allocate(MemoryKind.HOST, SIZE, MemoryRange.NO_DEVICE);
    }

    private CompatBackend backend(CuFileConfig config) {
        CompatBackend backend = new CompatBackend(config, posix, none);
        backend.driverOpen();
        return backend;
    }

    /** Nothing is left. */
    @TearDown
    public void close() throws IOException {
        session.close();
        quiet.driverClose();
        counting.driverClose();
        memory.close();
        allocator.close();
        Files.delete(path);
    }

    /** No counters at all: what a backend does for a read without them. */
    @Benchmark
    public long withoutCounters() {
        CompatSession open = current();
        open.enter(READ);
        try {
            return open.executor().execute(Operation.READ, sessionFile, memory.range(), SIZE, 0, 0);
        } finally {
            open.exit();
        }
    }

    private synchronized CompatSession current() {
        return session;
    }

    /** Level 0. */
    @Benchmark
    public long nothingCounted() {
        return quiet.read(quietFile, memory.range(), SIZE, 0, 0);
    }

    /** Level 3. */
    @Benchmark
    public long everythingCounted() {
        return counting.read(countingFile, memory.range(), SIZE, 0, 0);
    }
}
