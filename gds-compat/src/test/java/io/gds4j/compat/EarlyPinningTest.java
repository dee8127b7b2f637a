package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Workers clear and pin slabs while a program makes a context and allocates, before its first request. */
class EarlyPinningTest {
    private static final long LARGE = 64 << 20;
    private static final int WORKERS = 3;

    private final FakeCuda cuda = new FakeCuda(1, 2 * LARGE);
    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    private final CountedCuda counted = new CountedCuda(cuda.available().driver(), this::before);
    private final CuFileDriver driver = CuFileDriver.open(new CompatBackend(
            CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, (long) WORKERS)
                    .set(CuFileKeys.MAX_REQUEST_PARALLELISM, WORKERS + 1L).build(),
            posix, counted.over(cuda.available())));

    /** Bytes of slabs when the context was made; -1 if none was. */
    private volatile long stagedBeforeContext = -1;

    private volatile boolean slabsExpected = true;

    /** A context takes longer to make than slabs. */
    private void before(String call) {
        if (call.equals("devicePrimaryCtxRetain") && slabsExpected) {
            long deadline = System.nanoTime() + 10_000_000_000L;
            while (posix.mappedBytes() == 0 && System.nanoTime() < deadline) {
                Thread.onSpinWait();
            }
            stagedBeforeContext = posix.mappedBytes();
        }
    }

    @AfterEach
    void close() {
        driver.close();
        assertThat(cuda.violations()).isEmpty();
    }

    @Test
    void largeAllocationHasWorkersPrepare() {
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, LARGE, 0)) {
            assertThat(memory.range().length()).isEqualTo(LARGE);
            while (!counted.alive().containsKey("memHostRegister") || !counted.alive().containsKey("eventCreate")) {
                Thread.onSpinWait();
            }
            assertThat(stagedBeforeContext).isPositive();
        }
    }

    @Test
    void expectationHasWorkersPrepareAndReturnsAtOnce() {
        driver.allocator().expect(MemoryKind.HOST, MemoryRange.NO_DEVICE);
        driver.allocator().expect(MemoryKind.CUDA_DEVICE, 1); // there is no such GPU; an allocation says so
        assertThat(counted.alive()).isEqualTo(Map.of());

        driver.allocator().expect(MemoryKind.CUDA_DEVICE, 0);
        while (!counted.alive().containsKey("memHostRegister") || !counted.alive().containsKey("eventCreate")) {
            Thread.onSpinWait();
        }
        assertThat(stagedBeforeContext).isPositive();
    }

    @Test
    void preparationMakesAllBeforeItReturns() {
        driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 0);

        assertThat(stagedBeforeContext).isPositive();
        assertThat(counted.alive()).doesNotContainKey("memAlloc")
                .containsKeys("memHostRegister", "memHostAlloc", "streamCreate", "eventCreate");
        assertThat(cuda.calls(CudaFunction.MODULE_LOAD_DATA)).isPositive();
    }

    @Test
    void firstRequestFindsTheSlabsOfAllThreadsPinned(@TempDir Path folder) throws IOException {
        Path file = Files.write(folder.resolve("data"), new byte[(int) LARGE]);
        driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 0);
        String pinned = counted.alive().get("memHostRegister");

        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, LARGE, 0);
                CuFileHandle handle = driver.openFile(file)) {
            assertThat(handle.read(memory.range(), LARGE, 0, 0)).isEqualTo(LARGE);
        }

        assertThat(counted.alive().get("memHostRegister")).isEqualTo(pinned);
    }

    @Test
    void preparationOfHostMemoryMakesNothing() {
        driver.allocator().prepare(MemoryKind.HOST, MemoryRange.NO_DEVICE);

        assertThat(counted.alive()).isEqualTo(Map.of());
        assertThat(driver.peakStagingBytes()).isZero();
    }

    @Test
    void preparationNamesAGpuThatIsNotThere() {
        assertThatThrownBy(() -> driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 1))
                .isInstanceOfSatisfying(CuFileException.class,
                        e -> assertThat(e.error()).isEqualTo(CuFileError.DEVICE_NOT_FOUND))
                .hasMessageContaining("no GPU 1");
        assertThat(driver.peakStagingBytes()).isZero();
    }

    @Test
    void smallAllocationsAndHostMemoryPinNothing() {
        slabsExpected = false;
        for (MemoryKind kind : new MemoryKind[]{MemoryKind.CUDA_DEVICE, MemoryKind.HOST}) {
            long size = kind.isCuda() ? LARGE - 1 : LARGE;
            driver.allocator().allocate(kind, size, kind.isCuda() ? 0 : -1).close();
        }
        assertThat(counted.alive()).as("the streams of copies").isEqualTo(Map.of("streamCreate", "16, 0 bytes"));
        assertThat(driver.peakStagingBytes()).isZero();
    }
}
