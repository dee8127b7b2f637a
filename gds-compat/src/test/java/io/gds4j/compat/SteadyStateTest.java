package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A warm engine allocates nothing on the heap, and an engine at rest uses no processor time. */
class SteadyStateTest {
    private static final int LARGEST = 16 << 20;

    /** On a busy machine the JIT compiler, and a thread that comes to rest, may need several rounds. */
    private static final int ROUNDS = 50;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private Path file;
    private CuFileDriver driver;
    private CuFileHandle handle;
    private MemoryAllocation memory;

    @BeforeEach
    void open() throws IOException {
        file = Files.write(Files.createTempFile(TestFolder.onDisk(), "steady", null), new byte[LARGEST]);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, 3L)
                .set(CuFileKeys.MAX_REQUEST_PARALLELISM, 4L).build();
        driver = CuFileDriver.open(new CompatBackend(
                config, FfmPosix.instance(), new CudaAvailability.Unavailable("no driver in this test", "none")));
        handle = driver.openFile(file, StandardOpenOption.READ);
        memory = driver.allocator().allocate(MemoryKind.HOST, LARGEST);
    }

    @AfterEach
    void close() throws IOException {
        memory.close();
        handle.close();
        driver.close();
        Files.delete(file);
    }

    @ParameterizedTest
    @CsvSource({"4096, 1000000", "4194304, 400", "16777216, 100"})
    void readsAllocateLessThanAByteEachWorkersIncluded(int size, int calls) {
        double best = Double.MAX_VALUE;
        for (int round = 0; round < ROUNDS && best >= 1; round++) {
            best = Math.min(best, bytesOfARead(size, calls));
        }
        assertThat(best).as("bytes a read").isLessThan(1);
    }

    private double bytesOfARead(int size, int calls) {
        List<Thread> workers = workers();
        assertThat(workers).hasSize(3);
        long before = allocatedBy(workers) + threads.getCurrentThreadAllocatedBytes();
        long offset = 0;
        for (int i = 0; i < calls; i++) {
            handle.read(memory.range(), size, offset, 0);
            offset = offset + 2L * size > LARGEST ? 0 : offset + size;
        }
        long mine = threads.getCurrentThreadAllocatedBytes();
        return (allocatedBy(workers) + mine - before) / (double) calls;
    }

    private long allocatedBy(List<Thread> workers) {
        long bytes = 0;
        for (Thread worker : workers) {
            bytes += threads.getThreadAllocatedBytes(worker.threadId());
        }
        return bytes;
    }

    @Test
    void threadsAtRestUseNoProcessorTime() {
        handle.read(memory.range(), LARGEST, 0, 0);
        List<Thread> workers = workers();
        for (Thread worker : workers) {
            while (worker.getState() == Thread.State.RUNNABLE) {
                Thread.onSpinWait();
            }
        }
        long least = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS && least >= 1_000_000; round++) {
            long before = used(workers);
            // The test has to let time pass, because it measures that nothing runs meanwhile.
            LockSupport.parkNanos(300_000_000);
            least = Math.min(least, used(workers) - before);
        }
        assertThat(least).as("nanoseconds of processor time in 300 ms").isLessThan(1_000_000);
    }

    private long used(List<Thread> workers) {
        return workers.stream().mapToLong(worker -> threads.getThreadCpuTime(worker.threadId())).sum();
    }

    private static List<Thread> workers() {
        return Thread.getAllStackTraces().keySet().stream().filter(thread -> thread.getName().startsWith("gds4j-io-"))
                .toList();
    }
}
