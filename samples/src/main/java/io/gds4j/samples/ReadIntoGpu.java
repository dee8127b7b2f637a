package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import java.nio.file.Path;

/** The first program of docs/try.md: reads a file into GPU memory, or into host memory without a GPU. */
final class ReadIntoGpu {
    private ReadIntoGpu() {
    }

    /** Reads the file named by the first argument. */
    public static void main(String[] args) {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(Path.of(args[0]))) {
            MemoryAllocator allocator = driver.allocator();
            MemoryKind kind = allocator.best();
            try (MemoryAllocation memory = allocator.allocate(kind, file.size())) {
                long start = System.nanoTime();
                long bytes = file.read(memory, 0);
                double seconds = (System.nanoTime() - start) / 1e9;
                System.out.printf("%d bytes into %s, %.1f GB/s%n", bytes, kind, bytes / seconds / 1e9);
            }
            System.out.println(file.ioPath() + " " + driver.bytesByPath());
        }
    }
}
