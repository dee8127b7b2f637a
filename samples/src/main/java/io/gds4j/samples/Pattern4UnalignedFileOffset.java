package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Pattern 4: writes and reads that begin 3 bytes after a block boundary of the file. */
final class Pattern4UnalignedFileOffset {
    private static final int SHIFT = 3;
    private static final String LESSON =
            "At unaligned file offsets the edges of a request go through the page cache, and a write first reads the rest"
                    + " of their pages; in host memory the whole request does, at the speed of the cache.";

    private Pattern4UnalignedFileOffset() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Pattern4UnalignedFileOffset::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException {
        byte[] data = SampleArguments.randomBytes(arguments.size());
        Path path = arguments.folder().resolve("data");
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(path, CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length);
                CuFileBuffer buffer = driver.registerBuffer(memory)) {
            file.truncate(data.length + 2 * SHIFT); // SHIFT zeros before and after the data
            long bytes = 0;
            double seconds = 0;
            for (int round = 0; round < 2; round++) { // the first round warms the JVM up
                driver.allocator().copyFromHost(MemorySegment.ofArray(data), memory.range());
                bytes = 0;
                long start = System.nanoTime();
                for (int offset = 0; offset < data.length; offset += arguments.ioSize()) {
                    int part = Math.min(arguments.ioSize(), data.length - offset);
                    bytes += file.write(buffer, part, SHIFT + offset, offset);
                }
                seconds = (System.nanoTime() - start) / 1e9;
                driver.allocator().fill(memory.range(), (byte) 0);
                start = System.nanoTime();
                for (int offset = 0; offset < data.length; offset += arguments.ioSize()) {
                    int part = Math.min(arguments.ioSize(), data.length - offset);
                    bytes += file.read(buffer, part, SHIFT + offset, offset);
                }
                seconds += (System.nanoTime() - start) / 1e9;
            }

            byte[] arrived = new byte[data.length];
            driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(arrived));
            byte[] written = Files.readAllBytes(path);
            boolean verified = Arrays.equals(arrived, data)
                    && Arrays.equals(written, SHIFT, SHIFT + data.length, data, 0, data.length)
                    && Arrays.equals(written, SHIFT + data.length, written.length, new byte[SHIFT], 0, SHIFT);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }
}
