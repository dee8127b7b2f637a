package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * What all patterns of reads share: a driver, a file of random bytes, and memory for them.
 *
 * @param shift bytes of memory in front of the read bytes, and behind them
 */
record PatternFile(CuFileDriver driver, CuFileHandle file, MemoryAllocation memory, byte[] data, int shift) {
    /** A pattern. */
    interface Pattern {
        /** Prepares what is needed, and {@link #measure measures}. */
        SampleResult run(PatternFile with) throws IOException, InterruptedException;
    }

    /** Reads the whole file once. */
    interface Reads {
        /** Returns the number of bytes read. */
        long read(CuFileHandle file, MemoryAllocation memory, byte[] data) throws IOException, InterruptedException;
    }

    static SampleResult run(SampleArguments arguments, int shift, Pattern pattern)
            throws IOException, InterruptedException {
        byte[] data = SampleArguments.randomBytes(arguments.size());
        Path path = arguments.folder().resolve("data");
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(path, CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length + 2L * shift)) {
            return pattern.run(new PatternFile(driver, file, memory, data, shift));
        }
    }

    /** Writes the file, reads it twice, takes the time of the second round, and compares all memory with what it should be. */
    SampleResult measure(String lesson, Reads reads) throws IOException, InterruptedException {
        driver.allocator().copyFromHost(MemorySegment.ofArray(data), memory.range());
        file.write(memory.range(), data.length, 0, 0); // bypasses the page cache, so the reads come from the disk
        driver.allocator().fill(memory.range(), (byte) 0);
        long bytes = 0;
        double seconds = 0;
        for (int round = 0; round < 2; round++) { // the first round warms the JVM up
            long start = System.nanoTime();
            bytes = reads.read(file, memory, data);
            seconds = (System.nanoTime() - start) / 1e9;
        }

        byte[] expected = new byte[data.length + 2 * shift];
        System.arraycopy(data, 0, expected, shift, data.length);
        byte[] arrived = new byte[expected.length];
        driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(arrived));
        return new SampleResult(bytes, seconds, Arrays.equals(arrived, expected), driver.bytesByPath(), lesson);
    }
}
