package io.gds4j.benchmarks;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** Reads into a Java array from the page cache, beside FileChannel. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 3, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class HeapReadBenchmark {
    /** Length of the array. */
    @Param({"4096", "1048576", "67108864"})
    public int bytes;

    private byte[] array;
    private Path path;
    private CuFileDriver driver;
    private CuFileHandle handle;
    private FileChannel channel;

    /** The file, as both have it. */
    @Setup
    public void open() throws IOException {
        array = new byte[bytes];
        path = Files.write(Files.createTempFile("heap", null), array);
        driver = CuFileDriver.open();
        handle = driver.openFile(path);
        channel = FileChannel.open(path);
    }

    /** Gone after it. */
    @TearDown
    public void close() throws IOException {
        channel.close();
        handle.close();
        driver.close();
        Files.delete(path);
    }

    /** By the driver, in pieces of 1 MiB. */
    @Benchmark
    public long read() {
        return handle.read(array, 0);
    }

    /** By Java. */
    @Benchmark
    public long fileChannel() throws IOException {
        return channel.read(ByteBuffer.wrap(array), 0);
    }
}
