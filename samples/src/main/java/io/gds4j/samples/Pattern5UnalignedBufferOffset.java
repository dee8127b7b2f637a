package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;

/** Pattern 5: reads to memory addresses that are 3 bytes after an aligned address. */
public final class Pattern5UnalignedBufferOffset {
    private static final int SHIFT = 3;
    private static final String LESSON =
            "A disk controller writes to aligned memory only: at unaligned buffer offsets the bytes go through a bounce"
                    + " buffer, or come from the page cache.";

    private Pattern5UnalignedBufferOffset() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Pattern5UnalignedBufferOffset::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        byte[] data = SampleArguments.randomBytes(arguments.size());
        Path path = arguments.folder().resolve("data");
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(path, CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length + 2 * SHIFT);
                CuFileBuffer buffer = driver.registerBuffer(memory)) {
            driver.allocator().copyFromHost(MemorySegment.ofArray(data), memory.range());
            file.write(memory.range(), data.length, 0, 0); // bypasses the page cache, so the reads come from the disk
            driver.allocator().fill(memory.range(), (byte) 0);
            long bytes = 0;
            double seconds = 0;
            for (int round = 0; round < 2; round++) { // the first round warms the JVM up
                bytes = 0;
                long start = System.nanoTime();
                for (int offset = 0; offset < data.length; offset += arguments.ioSize()) {
                    int part = Math.min(arguments.ioSize(), data.length - offset);
                    bytes += file.read(buffer, part, offset, SHIFT + offset);
                }
                seconds = (System.nanoTime() - start) / 1e9;
            }

            byte[] arrived = new byte[data.length + 2 * SHIFT]; // SHIFT zeros before and after the data
            driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(arrived));
            boolean verified = Arrays.equals(arrived, SHIFT, SHIFT + data.length, data, 0, data.length)
                    && Arrays.equals(arrived, 0, SHIFT, new byte[SHIFT], 0, SHIFT)
                    && Arrays.equals(arrived, SHIFT + data.length, arrived.length, new byte[SHIFT], 0, SHIFT);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }
}
