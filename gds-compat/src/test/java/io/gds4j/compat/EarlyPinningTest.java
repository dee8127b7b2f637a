package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Workers pin slabs and create streams while a program allocates its GPU memory, before its first request. */
class EarlyPinningTest {
    private static final long LARGE = 64 << 20;
    private static final int WORKERS = 3;

    private final FakeCuda cuda = new FakeCuda(1, 2 * LARGE);
    private final CountedCuda counted = new CountedCuda(cuda.available().driver());
    private final CuFileDriver driver = CuFileDriver.open(new CompatBackend(
            CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, (long) WORKERS)
                    .set(CuFileKeys.MAX_REQUEST_PARALLELISM, WORKERS + 1L).build(),
            FfmPosix.instance(), counted.over(cuda.available())));

    @AfterEach
    void close() {
        driver.close();
        assertThat(cuda.violations()).isEmpty();
    }

    private void awaitObjects(String call, int count) {
        while (!counted.alive().getOrDefault(call, "").startsWith(count + ",")) {
            Thread.onSpinWait();
        }
    }

    @Test
    void largeAllocationHasEachWorkerPrepare() {
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, LARGE, 0)) {
            assertThat(memory.range().length()).isEqualTo(LARGE);
            awaitObjects("streamCreate", WORKERS);
            awaitObjects("eventCreate", 2 * WORKERS);
            assertThat(driver.peakStagingBytes()).isPositive();
        }
    }

    @Test
    void smallAllocationsAndHostMemoryPinNothing() {
        for (MemoryKind kind : new MemoryKind[]{MemoryKind.CUDA_DEVICE, MemoryKind.HOST}) {
            long size = kind.isCuda() ? LARGE - 1 : LARGE;
            driver.allocator().allocate(kind, size, kind.isCuda() ? 0 : -1).close();
        }
        assertThat(counted.alive()).isEqualTo(Map.of());
        assertThat(driver.peakStagingBytes()).isZero();
    }
}
