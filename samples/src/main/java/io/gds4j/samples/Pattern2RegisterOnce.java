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

/** Pattern 2: registers all memory once; the buffer offset of each request selects the part that it fills. */
public final class Pattern2RegisterOnce {
    private static final String LESSON =
            "For memory that is used again, register once before the loop and vary the buffer offset.";

    private Pattern2RegisterOnce() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Pattern2RegisterOnce::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        byte[] data = SampleArguments.randomBytes(arguments.size());
        Path path = arguments.folder().resolve("data");
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(path, CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length);
                CuFileBuffer buffer = driver.registerBuffer(memory)) {
            driver.allocator().copyFromHost(MemorySegment.ofArray(data), memory.range());
            file.write(memory.range(), 0); // bypasses the page cache, so the reads come from the disk
            driver.allocator().fill(memory.range(), (byte) 0);
            long bytes = 0;
            double seconds = 0;
            for (int round = 0; round < 2; round++) { // the first round warms the JVM up
                bytes = 0;
                long start = System.nanoTime();
                for (int offset = 0; offset < data.length; offset += arguments.ioSize()) {
                    int part = Math.min(arguments.ioSize(), data.length - offset);
                    bytes += file.read(buffer, part, offset, offset);
                }
                seconds = (System.nanoTime() - start) / 1e9;
            }

            byte[] arrived = new byte[data.length];
            driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(arrived));
            return new SampleResult(bytes, seconds, Arrays.equals(arrived, data), driver.bytesByPath(), LESSON);
        }
    }
}
