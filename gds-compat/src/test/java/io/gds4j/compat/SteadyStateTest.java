package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.ffi.ChildJvm;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A warm engine allocates nothing on the heap, and an engine at rest uses no processor time. */
@Tag("slow")
class SteadyStateTest {
    static final int LARGEST = 16 << 20;

    /** On a busy machine the JIT compiler, and a thread that comes to rest, may need several rounds. */
    static final int ROUNDS = 50;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private Path file;
    private CuFileDriver driver;
    private CuFileHandle handle;
    private MemoryAllocation memory;

    @BeforeEach
    void open() throws IOException {
        file = Files.write(Files.createTempFile(TestFolder.onDisk(), "steady", null), new byte[LARGEST]);
        driver = driver();
        handle = driver.openFile(file, StandardOpenOption.READ);
        memory = driver.allocator().allocate(MemoryKind.HOST, LARGEST);
    }

    static CuFileDriver driver() {
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, 3L)
                .set(CuFileKeys.MAX_REQUEST_PARALLELISM, 4L).build();
        return CuFileDriver.open(new CompatBackend(
                config, FfmPosix.instance(), new CudaAvailability.Unavailable("no driver in this test", "none")));
    }

    @AfterEach
    void close() throws IOException {
        memory.close();
        handle.close();
        driver.close();
        Files.delete(file);
    }

    /** In a JVM of its own: what other tests have taught the compiler may keep it from removing allocations. */
    @Test
    void readsAllocateLessThanAByteEachWorkersIncluded(@TempDir Path folder) {
        ChildJvm child = new ChildJvm(AllocatedByReads.class, folder, CompatBackend.class)
                .with("-XX:TieredStopAtLevel=4");

        ChildJvm.End end = child.run(file.toString(), "4096", "1000000", "4194304", "400", "16777216", "100");

        assertThat(end.status()).as("%s", end).isZero();
        assertThat(end.output().lines()).as("bytes a read")
                .hasSize(3)
                .allMatch(line -> Double.parseDouble(line) < 1);
    }

    @Test
    void aFragmentAllocatesLessThanAByte(@TempDir Path folder) {
        ChildJvm child = new ChildJvm(AllocatedByFragments.class, folder, CompatBackend.class)
                .with("-XX:TieredStopAtLevel=4");

        ChildJvm.End end = child.run(file.toString());

        assertThat(end.status()).as("%s", end).isZero();
        assertThat(end.output().lines()).as("bytes a fragment")
                .hasSize(4)
                .allMatch(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))) < 1);
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

    static List<Thread> workers() {
        return Thread.getAllStackTraces().keySet().stream().filter(thread -> thread.getName().startsWith("gds4j-io-"))
                .toList();
    }
}
