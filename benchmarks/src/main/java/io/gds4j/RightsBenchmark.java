package io.gds4j;

import io.gds4j.config.CuFileConfig;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.Operation;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
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

/** What it costs a call to check range and rights of its memory, and to hold that from its beginning to its end. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class RightsBenchmark {
    private static final long SIZE = 1 << 20;
    private static final RequestCheck REQUEST =
            new RequestCheck("cuFileRead", Optional.empty(), Operation.READ, 4096, 0, 512);

    private CuFileDriver driver;
    private MemoryAllocation allocation;
    private Session session;
    private MemoryRange range;
    private CuFileBuffer buffer;
    private BufferWindow window;

    /** One of each. */
    @Setup
    public void open() {
        driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");
        session = driver.session();
        allocation = driver.allocator().allocate(MemoryKind.HOST, SIZE);
        range = allocation.range();
        buffer = driver.registerBuffer(range);
        window = buffer.window(100, SIZE / 2, EnumSet.of(BufferRight.READ_INTO));
    }

    /** And away with them. */
    @TearDown
    public void close() {
        driver.close();
        allocation.close();
    }

    /** Range and rights alone. */
    @Benchmark
    public void checkOfAWindow() {
        REQUEST.checkWithin(window);
    }

    /** The same of a buffer. */
    @Benchmark
    public void checkOfABuffer() {
        REQUEST.checkWithin(buffer);
    }

    /** Plain memory, checked and held. */
    @Benchmark
    public void rangeHeld() {
        hold(range);
    }

    /** A buffer, checked and held. */
    @Benchmark
    public void bufferHeld() {
        hold(buffer);
    }

    /** A window, checked and held, key included. */
    @Benchmark
    public void windowHeld() {
        hold(window);
    }

    /** Making a window and killing it. */
    @Benchmark
    public long windowMadeAndClosed() {
        try (BufferWindow made = buffer.window(0, 10, Set.of(BufferRight.WRITE_FROM))) {
            return made.key();
        }
    }

    private void hold(IoMemory memory) {
        REQUEST.checkWithin(memory);
        ThreadState here = ThreadState.current();
        MemoryUse.enter(session, memory, here);
        MemoryUse.exit(memory, here);
    }
}
