package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import java.nio.file.Path;

/** Reads a file into GPU memory, or into host memory. */
final class ReadIntoGpu {
    private ReadIntoGpu() {
    }

    /** Reads the file that the first argument names. */
    public static void main(String[] args) {
        Path path = Path.of(args[0]);
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path);
                MemoryAllocation memory = driver.allocate(file.size())) { // of GPU 0, or of the host
            long bytes = file.read(memory, 0); // from offset 0; readAsync returns a future
            System.out.println(bytes + " bytes, " + file.ioPath() + " " + driver.bytesByPath());
        } catch (CuFileException e) {
            System.err.println(e.code() + ": " + e.getMessage());
        }
    }
}
