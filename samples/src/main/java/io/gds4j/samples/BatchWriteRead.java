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
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Submits a batch of writes (topic 19) and a batch of reads (topic 20), and waits for them. */
final class BatchWriteRead {
    private static final int ENTRIES = 32;
    private static final int EACH = 64 << 10;
    private static final String LESSON =
            "A batch is created once and used many times; its entries complete independently, in any order.";

    private BatchWriteRead() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(BatchWriteRead::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        byte[] data = SampleArguments.randomBytes(ENTRIES * EACH);
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length);
                CuFileBuffer buffer = driver.registerBuffer(memory);
                CuFileBatch batch = driver.batch(ENTRIES)) {
            Bytes.put(driver, data, memory.range());
            long start = System.nanoTime();
            long bytes = transfer(batch, file, buffer, true);
            double seconds = (System.nanoTime() - start) / 1e9;
            driver.allocator().fill(memory.range(), (byte) 0);
            start = System.nanoTime();
            bytes += transfer(batch, file, buffer, false);
            seconds += (System.nanoTime() - start) / 1e9;
            arguments.say("%d writes and %d reads of %d KiB", ENTRIES, ENTRIES, EACH >> 10);

            boolean verified = Arrays.equals(Bytes.in(driver, memory.range()), data);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    private static long transfer(CuFileBatch batch, CuFileHandle file, CuFileBuffer buffer, boolean write) {
        List<CuFileBatch.Request> requests = new ArrayList<>();
        for (long offset = 0; offset < buffer.range().length(); offset += EACH) {
            requests.add(new CuFileBatch.Request(file, write, buffer, EACH, offset, offset));
        }
        batch.submit(requests);
        long bytes = 0;
        for (CuFileBatch.Completion done : batch.await(requests.size(), Duration.ofSeconds(30))) {
            bytes += done.bytes(); // throws if that entry failed
        }
        return bytes;
    }
}
