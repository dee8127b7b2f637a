package io.gds4j.ffi.posix;

import com.sun.management.ThreadMXBean;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;

/** Prints the bytes that 50,000 reads and writes of a file allocate: the least of several rounds. Argument: the file. */
final class AllocatedByCalls {
    private static final int ROUNDS = 1000;
    private static final int CALLS = 10_000;

    private AllocatedByCalls() {
    }

    /** Runs in a JVM of its own. */
    public static void main(String[] arguments) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Posix posix = FfmPosix.instance();
        int fd = posix.open(arguments[0], PosixConstants.O_RDWR, 0);
        long least = Long.MAX_VALUE;
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(64);
            for (int round = 0; round < ROUNDS && least > 0; round++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                for (int i = 0; i < CALLS; i++) {
                    posix.pread(fd, memory.address(), 8, 0);
                    posix.pread(fd, memory, 0, 8, 0);
                    posix.pread(fd, memory, 8, 8, 0);
                    posix.pwrite(fd, memory.address(), 8, 0);
                    posix.preadv2(fd, memory.address(), 8, 0, 0);
                }
                least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
            }
        }
        posix.close(fd);
        System.out.println(least);
    }
}
