package io.gds4j.benchmarks;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.ffi.CallState;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.libcufile.FakeMachine;
import io.gds4j.libcufile.NothingFunction;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
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

/**
 * What a cuFileRead from Java costs beside the library's own work: every benchmark ends in a native function of its signature
 * that does nothing.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class CuFileReadBenchmark {
    private static final long SIZE = 4096;
    private static final FunctionDescriptor TYPE =
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandle PLAIN = Linker.nativeLinker().downcallHandle(TYPE);
    private static final MethodHandle WITH_ERRNO =
            Linker.nativeLinker().downcallHandle(TYPE, CallState.CAPTURE_ERRNO);
    private static final MemorySegment NOTHING = NothingFunction.make();

    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory = arena.allocate(SIZE, SIZE);
    private final MemoryRange range = MemoryRange.ofSegment(memory);
    private final MemorySegment errno = CallState.current().errnoSlot();
    private Path file;
    private CuFileLibrary library;
    private CuFileDriver driver;
    private CuFileHandle handle;

    /** The double of the library, with a cuFileRead that does nothing. */
    @Setup
    public void open() throws IOException {
        FakeMachine machine = new FakeMachine();
        machine.fake.with("cuFileRead", NOTHING);
        library = machine.fake.library();
        driver = CuFileDriver.open(machine.backend());
        file = Files.write(Files.createTempFile("read", null), new byte[(int) SIZE]);
        handle = driver.openFile(file);
    }

    /** Gone after it. */
    @TearDown
    public void close() throws IOException {
        handle.close();
        driver.close();
        Files.delete(file);
        arena.close();
    }

    /** The call alone. */
    @Benchmark
    public long doNothing() throws Throwable {
        return (long) PLAIN.invokeExact(NOTHING, 1L, memory.address(), SIZE, 0L, 0L);
    }

    /** And errno taken. */
    @Benchmark
    public long doNothingAndTakeErrno() throws Throwable {
        return (long) WITH_ERRNO.invokeExact(NOTHING, errno, 1L, memory.address(), SIZE, 0L, 0L);
    }

    /** The binding. */
    @Benchmark
    public long bindingRead() {
        return library.read(1, memory.address(), SIZE, 0, 0);
    }

    /** The public API: all checks, guards and counters. */
    @Benchmark
    public long handleRead() {
        return handle.read(range, SIZE, 0, 0);
    }
}
