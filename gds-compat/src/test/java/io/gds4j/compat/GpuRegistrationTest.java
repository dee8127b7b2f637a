package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.RegistrationPolicy;
import io.gds4j.RegistrationStatistics;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Registrations of memory that a program allocates itself, on a GPU. The backend notices when the memory is freed. */
@Tag("gpu")
class GpuRegistrationTest {
    private static final int SIZE = 64 << 20;
    private static final int TRIES = 50;
    /** Rounds until the code is compiled, also the code of a cache hit. */
    private static final int WARM_UP = 1000;

    private final CudaAvailability.Available available = (CudaAvailability.Available) CudaDriver.detect();
    private final Cuda cuda = available.driver();
    private final CudaContexts contexts = available.contexts();

    @TempDir
    private Path folder;

    private Path file(int seed) throws IOException {
        return Files.write(folder.resolve("file" + seed), RandomBytes.of(seed, SIZE));
    }

    private long allocate() {
        long[] pointer = new long[1];
        assertThat(contexts.in(contexts.primary(0), () -> cuda.memAlloc(pointer, SIZE))).isZero();
        return pointer[0];
    }

    private void free(long pointer) {
        assertThat(contexts.in(contexts.primary(0), () -> cuda.memFree(pointer))).isZero();
    }

    /** Uses memory, frees it and allocates as much, until that is at the same address: the first time, or soon. */
    private long comesBack(LongConsumer use) {
        long pointer = allocate();
        for (int round = 0; round < TRIES; round++) {
            use.accept(pointer);
            free(pointer);
            long next = allocate();
            if (next == pointer) {
                return pointer;
            }
            pointer = next;
        }
        free(pointer);
        throw new AssertionError("no address came back in %d rounds".formatted(TRIES));
    }

    private static MemoryRange range(long pointer) {
        return MemoryRange.ofAddress(pointer, SIZE, MemoryKind.CUDA_DEVICE);
    }

    private static void expect(CuFileDriver driver, MemoryRange range, int seed) {
        byte[] bytes = new byte[SIZE];
        driver.allocator().copyToHost(range, MemorySegment.ofArray(bytes));
        assertThat(bytes).isEqualTo(RandomBytes.of(seed, SIZE));
    }

    @ParameterizedTest
    @ValueSource(strings = {"compat", "libcufile"})
    void memoryThatCameBackToItsAddressIsNoticedByTheCache(String backend) throws IOException {
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), backend);
                CuFileHandle first = driver.openFile(file(1));
                CuFileHandle second = driver.openFile(file(2))) {
            driver.setRegistrationPolicy(RegistrationPolicy.CACHED);
            long pointer = comesBack(allocated -> {
                assertThat(first.read(range(allocated), 0)).isEqualTo(SIZE);
                assertThat(first.read(range(allocated), 0)).isEqualTo(SIZE);
            });
            RegistrationStatistics before = driver.registrationStatistics();
            assertThat(second.read(range(pointer), 0)).isEqualTo(SIZE);
            expect(driver, range(pointer), 2);
            RegistrationStatistics done = driver.registrationStatistics();
            System.out.println("registrations of " + backend + ": " + before + ", then " + done);
            assertThat(done.staleHits()).isEqualTo(before.staleHits() + 1);
            assertThat(done.misses()).isEqualTo(before.misses() + 1);
            assertThat(done.hits()).isEqualTo(before.hits());
            free(pointer);
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> first.read(range(pointer), 0));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"compat", "libcufile"})
    void aRegistrationOfTheProgramsOwnDoesNotOutliveItsMemory(String backend) throws IOException {
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), backend);
                CuFileHandle handle = driver.openFile(file(3))) {
            List<CuFileBuffer> buffers = new ArrayList<>();
            long pointer = comesBack(allocated -> {
                buffers.forEach(CuFileBuffer::close);
                buffers.clear();
                buffers.add(driver.registerBuffer(range(allocated)));
                assertThat(handle.read(buffers.getFirst(), 0)).isEqualTo(SIZE);
            });
            CuFileBuffer buffer = buffers.getFirst();
            assertThat(buffer.range().address()).isEqualTo(pointer);
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.read(buffer, 0));
            buffer.close();
            free(pointer);
        }
    }

    /** Measures several ways to use memory for many reads, in turns; returns the median of each in microseconds. */
    private static double[] micros(Runnable... ways) {
        int rounds = 150;
        double[][] taken = new double[ways.length][rounds];
        for (int round = -WARM_UP; round < rounds; round++) {
            for (int way = 0; way < ways.length; way++) {
                long begun = System.nanoTime();
                ways[way].run();
                taken[way][Math.max(0, round)] = (System.nanoTime() - begun) / 1e3;
            }
        }
        return Arrays.stream(taken).mapToDouble(times -> {
            Arrays.sort(times);
            return times[rounds / 2];
        }).toArray();
    }

    @Test
    void registeringInTheLoopCostsWhatACacheAndRegisteringOnceDoNot() throws IOException {
        Path path = file(4);
        for (String backend : List.of("compat", "libcufile")) {
            try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), backend);
                    CuFileHandle handle = driver.openFile(path);
                    MemoryAllocation plain = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE);
                    MemoryAllocation looped = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE);
                    MemoryAllocation kept = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE);
                    CuFileBuffer once = driver.registerBuffer(kept.range());
                    CuFileDriver caching = CuFileDriver.open(CuFileConfig.defaults(), backend);
                    CuFileHandle cachedHandle = caching.openFile(path);
                    MemoryAllocation cached = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE);
                    MemoryAllocation beside = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE);
                    CuFileBuffer onceBeside = caching.registerBuffer(beside.range())) {
                caching.setRegistrationPolicy(RegistrationPolicy.CACHED);
                for (long size : new long[]{64 << 10, 1 << 20, 16 << 20}) {
                    MemoryRange part = looped.range().slice(0, size);
                    double[] micros = micros(
                            () -> handle.read(plain.range(), size, 0, 0),
                            () -> {
                                try (CuFileBuffer buffer = driver.registerBuffer(part)) {
                                    handle.read(buffer, 0);
                                }
                            },
                            () -> cachedHandle.read(cached.range(), size, 0, 0),
                            () -> handle.read(once, size, 0, 0),
                            // In the cache's session, so that its threads rest as long as in the cache's rounds.
                            () -> cachedHandle.read(onceBeside, size, 0, 0));
                    System.out.printf(
                            Locale.ROOT,
                            "patterns: %-9s %8d bytes: unregistered %7.1f us, in the loop %7.1f, cached %7.1f, once %7.1f, once in the cache's session %7.1f%n",
                            backend, size, micros[0], micros[1], micros[2], micros[3], micros[4]);
                }
                assertThat(caching.registrationStatistics().misses()).isOne();
            }
        }
    }
}
