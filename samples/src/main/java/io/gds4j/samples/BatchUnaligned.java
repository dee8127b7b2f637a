package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Batches of unaligned writes of 6144 bytes (topic 27) and of 4 bytes (topic 29). Half of them come from registered memory, and
 * every second one uses a handle with O_DIRECT.
 */
final class BatchUnaligned {
    private static final int ENTRIES = 32;
    private static final String LESSON =
            "Entries of one batch may differ in size, registration and O_DIRECT.";

    private BatchUnaligned() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(BatchUnaligned::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException {
        long bytes = 0;
        boolean verified = true;
        try (CuFileDriver driver = arguments.openDriver()) {
            long start = System.nanoTime();
            for (int each : new int[]{6144, 4}) {
                byte[] data = SampleArguments.randomBytes(ENTRIES * each);
                Path path = arguments.folder().resolve("data" + each);
                bytes += write(driver, arguments, path, data, each);
                boolean equal = Arrays.equals(Files.readAllBytes(path), data);
                arguments.say("%d writes of %d bytes: %s", ENTRIES, each, equal ? "equal" : "DIFFERENT");
                verified &= equal;
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    private static long write(CuFileDriver driver, SampleArguments arguments, Path path, byte[] data, int each) {
        long half = data.length / 2;
        try (CuFileHandle direct = driver.openFile(path, CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                CuFileHandle buffered = driver.openFile(path, READ, WRITE);
                MemoryAllocation memory = arguments.allocate(driver, data.length);
                CuFileBuffer firstHalf = driver.registerBuffer(memory.range().slice(0, half));
                CuFileBatch batch = driver.batch(ENTRIES)) {
            Bytes.put(driver, data, memory.range());
            List<CuFileBatch.Request> requests = new ArrayList<>();
            for (int i = 0; i < ENTRIES; i++) {
                CuFileHandle file = i % 2 == 0 ? direct : buffered;
                long offset = (long) i * each;
                requests.add(
                        offset < half
                                ? CuFileBatch.Request.write(file, firstHalf, each, offset, offset)
                                : CuFileBatch.Request.write(file, memory.range(), each, offset, offset));
            }
            long bytes = 0;
            for (CuFileBatch.Completion done : batch.transferAll(requests)) { // submits, waits, checks
                bytes += done.bytes();
            }
            return bytes;
        }
    }
}
