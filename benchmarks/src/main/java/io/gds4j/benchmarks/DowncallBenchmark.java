package io.gds4j.benchmarks;

import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
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

/** What a system call costs from Java, on a file in the page cache. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class DowncallBenchmark {
    private static final int SIZE = 1 << 20;
    private static final long BLOCK = 4096;

    private final Posix posix = FfmPosix.instance();
    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory = arena.allocate(BLOCK, BLOCK);
    private Path file;
    private int fd;

    /** A file of one MiB, just written. */
    @Setup
    public void open() throws IOException {
        file = Files.write(Files.createTempFile("downcall", null), new byte[SIZE]);
        fd = posix.open(file.toString(), PosixConstants.O_RDONLY, 0);
    }

    /** Gone after it. */
    @TearDown
    public void close() throws IOException {
        posix.close(fd);
        Files.delete(file);
        arena.close();
    }

    /** 4 KiB to a raw address. */
    @Benchmark
    public long preadAddress() {
        return posix.pread(fd, memory.address(), BLOCK, 0);
    }

    /** 4 KiB into a segment whose arena cannot close meanwhile. */
    @Benchmark
    public long preadSegment() {
        return posix.pread(fd, memory, 0, BLOCK, 0);
    }

    /** One byte: the call itself. */
    @Benchmark
    public long preadByte() {
        return posix.pread(fd, memory.address(), 1, 0);
    }

    /** What is in the page cache of one MiB. */
    @Benchmark
    public long cachedPages() {
        return posix.cachedPages(fd, 0, SIZE);
    }
}
