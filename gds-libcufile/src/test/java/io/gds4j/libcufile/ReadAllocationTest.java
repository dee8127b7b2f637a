package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A read allocates nothing on the heap, from the public API down to the native call. */
class ReadAllocationTest {
    private static final int CALLS = 1_000_000;
    /** The JIT compiler may take its time on a busy machine. */
    private static final int ROUNDS = 10;

    @TempDir
    private Path folder;

    @ParameterizedTest(name = "at level {0} of statistics")
    @ValueSource(ints = {0, 3})
    void millionReadsAllocateLessThanAByteEach(int level) throws IOException {
        FakeMachine machine = new FakeMachine();
        machine.fake.with("cuFileRead", NothingFunction.make());
        Path file = Files.write(folder.resolve("file"), new byte[4096]);
        try (CuFileDriver driver = CuFileDriver.open(machine.backend());
                CuFileHandle handle = driver.openFile(file);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096)) {
            driver.statistics().setLevel(level);
            driver.statistics().start();
            double best = Double.MAX_VALUE;
            for (int round = 0; round < ROUNDS && best >= 1; round++) {
                best = Math.min(best, bytesOfARead(handle, memory));
            }
            assertThat(best).as("bytes a read").isLessThan(1);
        }
    }

    private static double bytesOfARead(CuFileHandle handle, MemoryAllocation memory) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < CALLS; i++) {
            handle.read(memory.range(), 4096, 0, 0);
        }
        return (threads.getCurrentThreadAllocatedBytes() - before) / (double) CALLS;
    }
}
