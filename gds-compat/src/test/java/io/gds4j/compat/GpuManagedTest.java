package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The cost of reads into managed memory, by the place of its pages. Prints rates to standard output. */
@Tag("gpu")
class GpuManagedTest {
    private static final int SIZE = 256 << 20;
    private static final int ROUNDS = 7;

    @TempDir
    private Path folder;

    /** Returns the median of the GB/s of some rounds. The measurement leaves out the preparation of each round. */
    private static double rate(Runnable before, Runnable measured) {
        double[] rates = new double[ROUNDS];
        for (int round = -1; round < ROUNDS; round++) {
            before.run();
            long begun = System.nanoTime();
            measured.run();
            rates[Math.max(0, round)] = SIZE / (double) (System.nanoTime() - begun);
        }
        Arrays.sort(rates);
        return rates[ROUNDS / 2];
    }

    private static void print(String backend, String what, double rate) {
        System.out.printf(Locale.ROOT, "managed: %-9s %-46s %6.1f GB/s%n", backend, what, rate);
    }

    @ParameterizedTest
    @ValueSource(strings = {"compat", "libcufile"})
    void whatReadingIntoManagedMemoryCosts(String backend) throws IOException {
        byte[] bytes = RandomBytes.of(9, SIZE);
        Path file = Files.write(folder.resolve("file"), bytes);
        Runnable nothing = () -> {
        };
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), backend);
                CuFileHandle handle = driver.openFile(file)) {
            MemoryAllocator allocator = driver.allocator();
            try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_DEVICE, SIZE)) {
                print(backend, "CUDA_DEVICE", rate(nothing, () -> handle.read(memory.range(), 0)));
            }
            MemoryAllocation[] fresh = new MemoryAllocation[1];
            print(backend, "CUDA_MANAGED, never touched", rate(() -> {
                if (fresh[0] != null) {
                    fresh[0].close();
                }
                fresh[0] = allocator.allocate(MemoryKind.CUDA_MANAGED, SIZE);
            }, () -> handle.read(fresh[0].range(), 0)));
            fresh[0].close();
            try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_MANAGED, SIZE)) {
                MemoryRange range = memory.range();
                print(backend, "CUDA_MANAGED, pages on the GPU", rate(
                        () -> allocator.prefetch(range, 0), () -> handle.read(range, 0)));
                print(backend, "  prefetched to the GPU after that", rate(
                        () -> handle.read(range, 0), () -> allocator.prefetch(range, 0)));
                print(backend, "CUDA_MANAGED, pages on the host", rate(
                        () -> allocator.prefetch(range, MemoryRange.NO_DEVICE), () -> handle.read(range, 0)));
                print(backend, "  prefetched to the GPU after that", rate(() -> {
                    allocator.prefetch(range, MemoryRange.NO_DEVICE);
                    handle.read(range, 0);
                }, () -> allocator.prefetch(range, 0)));
                print(backend, "  read and prefetched to the GPU after", rate(
                        () -> allocator.prefetch(range, MemoryRange.NO_DEVICE), () -> {
                            handle.read(range, 0);
                            allocator.prefetch(range, 0);
                        }));
                byte[] read = new byte[SIZE];
                allocator.copyToHost(range, MemorySegment.ofArray(read));
                assertThat(Arrays.equals(read, bytes)).isTrue();
            }
        }
    }
}
