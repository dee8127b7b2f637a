package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.memory.MemoryAllocation;
import java.nio.file.Path;

/** Reads a file into GPU memory, or into host memory. */
final class ReadIntoGpu {
    private ReadIntoGpu() {
    }

    /** Reads the file that the first argument names. */
    public static void main(String[] args) {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(Path.of(args[0]));
                MemoryAllocation memory = driver.allocate(file.size())) {
            long start = System.nanoTime();
            long bytes = file.read(memory, 0);
            double seconds = (System.nanoTime() - start) / 1e9;
            System.out.printf("%d bytes into %s, %.1f GB/s%n", bytes, memory.kind(), bytes / seconds / 1e9);
            System.out.println(file.ioPath() + " " + driver.bytesByPath());
        }
    }
}
