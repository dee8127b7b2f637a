package io.gds4j.compat;

import com.sun.management.ThreadMXBean;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * Prints the bytes that a read allocates, workers included: the least of several rounds. Arguments: the file, then sizes, each with the
 * number of reads of a round. The first sizes warm up the others.
 */
final class AllocatedByReads {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private AllocatedByReads() {
    }

    /** Runs in a JVM of its own. */
    public static void main(String[] arguments) {
        try (CuFileDriver driver = SteadyStateTest.driver();
                CuFileHandle handle = driver.openFile(Path.of(arguments[0]), StandardOpenOption.READ);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SteadyStateTest.LARGEST)) {
            for (int i = 1; i < arguments.length; i += 2) {
                int size = Integer.parseInt(arguments[i]);
                int reads = Integer.parseInt(arguments[i + 1]);
                double best = Double.MAX_VALUE;
                for (int round = 0; round < SteadyStateTest.ROUNDS && best >= 1; round++) {
                    best = Math.min(best, bytesOfARead(handle, memory, size, reads));
                }
                System.out.println(best);
            }
        }
    }

    private static double bytesOfARead(CuFileHandle handle, MemoryAllocation memory, int size, int reads) {
        List<Thread> workers = SteadyStateTest.workers();
        long before = allocatedBy(workers) + THREADS.getCurrentThreadAllocatedBytes();
        long offset = 0;
        for (int i = 0; i < reads; i++) {
            handle.read(memory.range(), size, offset, 0);
            offset = offset + 2L * size > SteadyStateTest.LARGEST ? 0 : offset + size;
        }
        long mine = THREADS.getCurrentThreadAllocatedBytes();
        return (allocatedBy(workers) + mine - before) / (double) reads;
    }

    private static long allocatedBy(List<Thread> workers) {
        long bytes = 0;
        for (Thread worker : workers) {
            bytes += THREADS.getThreadAllocatedBytes(worker.threadId());
        }
        return bytes;
    }
}
