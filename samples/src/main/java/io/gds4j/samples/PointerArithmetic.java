package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.util.Arrays;

/** Fills unregistered memory 64 KiB at a time by moving the pointer (topic 6). */
final class PointerArithmetic {
    private static final int CHUNK = 64 << 10;
    private static final int MAX_BYTES = 16 << 20;
    private static final String LESSON =
            "C adds to a pointer, Java takes a slice, which has an end that no read can pass.";

    private PointerArithmetic() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(PointerArithmetic::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        byte[] data = SampleArguments.randomBytes(Math.min(arguments.size(), MAX_BYTES));
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length)) {
            Bytes.put(driver, data, memory.range());
            file.write(memory.range(), 0);
            driver.allocator().fill(memory.range(), (byte) 0);

            long start = System.nanoTime();
            long bytes = 0;
            while (bytes < data.length) {
                MemoryRange rest = memory.range().slice(bytes, data.length - bytes);
                bytes += file.read(rest, Math.min(CHUNK, rest.length()), bytes, 0);
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            arguments.say("%d reads of %d KiB", Math.ceilDiv(data.length, CHUNK), CHUNK >> 10);

            boolean verified = Arrays.equals(Bytes.in(driver, memory.range()), data);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }
}
