package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import java.util.Arrays;

/**
 * Uses parts of one registered buffer: a write from an offset (topic 5), and loops of writes and reads in steps of 64 KiB
 * (topic 14).
 */
final class BufferOffsets {
    private static final int BUFFER = 1 << 20;
    private static final int OFFSET = 128 << 10;
    private static final int STEP = 64 << 10;
    private static final String LESSON =
            "The base of a registered buffer stays the same; offsets select a part of it.";

    private BufferOffsets() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(BufferOffsets::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        byte[] data = SampleArguments.randomBytes(BUFFER);
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, BUFFER);
                CuFileBuffer buffer = driver.registerBuffer(memory)) {
            Bytes.put(driver, data, memory.range());
            long start = System.nanoTime();
            long bytes = file.write(buffer, BUFFER - OFFSET, 0, OFFSET);
            double seconds = (System.nanoTime() - start) / 1e9;
            arguments.say("wrote %d KiB from buffer offset %d KiB", (BUFFER - OFFSET) >> 10, OFFSET >> 10);

            // reads to the beginning of the buffer: the bytes from OFFSET are now at 0
            start = System.nanoTime();
            bytes += file.read(buffer, BUFFER - OFFSET, 0, 0);
            seconds += (System.nanoTime() - start) / 1e9;
            boolean verified = Arrays.equals(
                    Bytes.in(driver, memory.range().slice(0, BUFFER - OFFSET)),
                    Arrays.copyOfRange(data, OFFSET, BUFFER));

            Bytes.put(driver, data, memory.range());
            start = System.nanoTime();
            for (int offset = 0; offset < BUFFER; offset += STEP) {
                bytes += file.write(buffer, STEP, offset, offset);
            }
            seconds += (System.nanoTime() - start) / 1e9;
            driver.allocator().fill(memory.range(), (byte) 0);
            start = System.nanoTime();
            for (int offset = 0; offset < BUFFER; offset += STEP) {
                bytes += file.read(buffer, STEP, offset, offset);
            }
            seconds += (System.nanoTime() - start) / 1e9;
            arguments.say("wrote and read %d parts of %d KiB", BUFFER / STEP, STEP >> 10);
            verified &= Arrays.equals(Bytes.in(driver, memory.range()), data);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }
}
