package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A read allocates nothing on the heap, from the public API down to the native call. */
@Tag("slow")
class ReadAllocationTest {
    /**
     * In a JVM of its own: only the second compiler removes allocations, and not after what other tests have taught it.
     * The program waits for the compiler, so what it inlines does not depend on how busy the machine is.
     */
    @Test
    void millionReadsAllocateLessThanAByteEach(@TempDir Path folder) throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[4096]);
        ChildJvm child = new ChildJvm(Child.class, folder).with("-XX:TieredStopAtLevel=4", "-Xbatch");

        ChildJvm.End end = child.run(file.toString(), "0", "3");

        assertThat(end.status()).as("%s", end).isZero();
        assertThat(end.output().lines()).as("bytes a read at levels 0 and 3 of statistics")
                .hasSize(2)
                .allMatch(line -> Double.parseDouble(line) < 1);
    }

    /** Prints the bytes that a read allocates, the least of several rounds, for each level of statistics. */
    static final class Child {
        private static final int CALLS = 1_000_000;
        /** The JIT compiler may take its time on a busy machine. */
        private static final int ROUNDS = 10;

        public static void main(String[] arguments) {
            FakeMachine machine = new FakeMachine();
            machine.fake.with("cuFileRead", NothingFunction.make());
            try (CuFileDriver driver = CuFileDriver.open(machine.backend());
                    CuFileHandle handle = driver.openFile(Path.of(arguments[0]));
                    MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096)) {
                for (int i = 1; i < arguments.length; i++) {
                    driver.statistics().setLevel(Integer.parseInt(arguments[i]));
                    driver.statistics().start();
                    double best = Double.MAX_VALUE;
                    for (int round = 0; round < ROUNDS && best >= 1; round++) {
                        best = Math.min(best, bytesOfARead(handle, memory));
                    }
                    System.out.println(best);
                }
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
}
