package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.RegistrationPolicy;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Memory of one GPU while another one is current, and on threads without a context. */
abstract class ManyGpus {
    private static final int SIZE = (9 << 20) + 77;
    private static final int NO_CONTEXT = -1;

    private Path file;
    private CuFileDriver driver;

    /** A driver with two GPUs or more. */
    abstract CudaAvailability.Available available();

    /** The folder of the files. */
    abstract Path directory();

    @BeforeEach
    void open() throws IOException {
        file = Files.write(Files.createTempFile(directory(), "many", null), RandomBytes.of(1, SIZE));
        driver = CuFileDriver.open(
                new CompatBackend(CuFileConfig.defaults(), FfmPosix.instance(), available()));
    }

    @AfterEach
    void close() throws IOException {
        driver.close();
        Files.delete(file);
    }

    static Stream<Arguments> memoryAndCurrentGpu() {
        List<Arguments> rows = new ArrayList<>();
        for (MemoryKind kind : new MemoryKind[]{MemoryKind.CUDA_DEVICE, MemoryKind.CUDA_POOL, MemoryKind.CUDA_VMM,
                MemoryKind.CUDA_MANAGED, MemoryKind.HOST_PINNED}) {
            for (int gpu = 0; gpu < 2; gpu++) {
                for (int current = NO_CONTEXT; current < 2; current++) {
                    rows.add(Arguments.of(kind, gpu, current));
                }
            }
        }
        return rows.stream();
    }

    @ParameterizedTest(name = "{0} of GPU {1} while {2} is current")
    @MethodSource("memoryAndCurrentGpu")
    void bytesArriveAndTheCurrentContextStays(MemoryKind kind, int gpu, int current) throws Exception {
        FutureTask<Void> work = new FutureTask<>(() -> {
            onThread(kind, gpu, current);
            return null;
        });
        Thread.ofPlatform().start(work);
        work.get();
    }

    private void onThread(MemoryKind kind, int gpu, int current) {
        Cuda cuda = available().driver();
        long context = current == NO_CONTEXT ? 0 : available().contexts().primary(current);
        assertThat(cuda.ctxSetCurrent(context)).isZero();
        try (CuFileHandle handle =
                driver.openFile(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
                MemoryAllocation memory = driver.allocator().allocate(kind, SIZE, gpu)) {
            move(handle, memory, memory.range());
            assertThat(current(cuda)).isEqualTo(context);
            driver.setRegistrationPolicy(RegistrationPolicy.CACHED);
            move(handle, memory, memory.range());
            driver.setRegistrationPolicy(RegistrationPolicy.EXPLICIT);
            try (CuFileBuffer buffer = driver.registerBuffer(memory.range())) {
                move(handle, memory, buffer);
            }
            assertThat(current(cuda)).isEqualTo(context);
        }
        assertThat(current(cuda)).isEqualTo(context);
    }

    private void move(CuFileHandle handle, MemoryAllocation memory, IoMemory target) {
        driver.allocator().fill(memory.range(), (byte) 0);
        assertThat(handle.read(target, 0)).isEqualTo(SIZE);
        byte[] bytes = new byte[SIZE];
        driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(bytes));
        assertThat(Arrays.equals(bytes, RandomBytes.of(1, SIZE))).isTrue();
        assertThat(handle.write(target, 0)).isEqualTo(SIZE);
    }

    private static long current(Cuda cuda) {
        long[] context = new long[1];
        assertThat(cuda.ctxGetCurrent(context)).isZero();
        return context[0];
    }
}
