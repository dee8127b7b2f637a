package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.RandomBytes;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The cases of {@link ManyGpus} over two GPUs of the fake driver. */
@Tag("slow")
class FakeManyGpusTest extends ManyGpus {
    private final FakeCuda cuda = new FakeCuda(2, 64 << 20);
    private final CudaAvailability.Available available = cuda.available();

    @Override
    CudaAvailability.Available available() {
        return available;
    }

    @Override
    Path directory() {
        return TestFolder.onDisk();
    }

    @Test
    @Timeout(60)
    void requestsOfOneGpuTakeNoWorkersFromThoseOfAnother() throws Exception {
        long half = 8 << 20;
        CountDownLatch allOfTheFirst = new CountDownLatch(3);
        CountDownLatch secondIsOver = new CountDownLatch(1);
        CyclicBarrier twoOfTheSecond = new CyclicBarrier(2);
        AtomicInteger ofTheSecond = new AtomicInteger();
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> {
            if (call.getName().equals("pread") && (long) arguments[3] < half) {
                allOfTheFirst.countDown();
                secondIsOver.await();
            } else if (call.getName().equals("pread") && ofTheSecond.getAndIncrement() < 2) {
                twoOfTheSecond.await();
            }
            return kernel.call();
        });
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, 2L)
                .set(CuFileKeys.MAX_REQUEST_PARALLELISM, 3L).set(CuFileKeys.FORCE_ODIRECT_MODE, true).build();
        Path file = Files.write(Files.createTempFile(directory(), "workers", null), RandomBytes.of(2, 2 * (int) half));
        try (CuFileDriver driver = CuFileDriver.open(new CompatBackend(config, posix, available));
                CuFileHandle handle = driver.openFile(file, StandardOpenOption.READ);
                MemoryAllocation first = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, half, 0);
                MemoryAllocation second = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, half, 1)) {
            FutureTask<Long> other = new FutureTask<>(() -> handle.read(first.range(), half, 0, 0));
            Thread.ofPlatform().start(other);
            // The caller and both workers of the first GPU are held up here ...
            allOfTheFirst.await();
            // ... and a caller of the second finds help nevertheless.
            assertThat(handle.read(second.range(), half, half, 0)).isEqualTo(half);
            assertThat(ofTheSecond.get()).isGreaterThanOrEqualTo(2);
            secondIsOver.countDown();
            assertThat(other.get()).isEqualTo(half);
        } finally {
            secondIsOver.countDown();
            Files.delete(file);
        }
    }

    @AfterEach
    void nothingIsBroken() {
        assertThat(cuda.violations()).isEmpty();
    }
}
