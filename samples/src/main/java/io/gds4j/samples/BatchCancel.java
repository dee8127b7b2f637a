package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.spi.BatchStatus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Cancels a batch right after its submission and counts the results of its entries (topic 21). */
final class BatchCancel {
    private static final int ENTRIES = 64;
    private static final int PAGE = 4096;
    private static final String LESSON =
            "Cancelling stops entries that have not begun; every entry still has a completion, which must be taken.";

    private BatchCancel() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(BatchCancel::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        int each = Math.ceilDiv(arguments.size(), ENTRIES * PAGE) * PAGE;
        byte[] data = SampleArguments.randomBytes(ENTRIES * each);
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length);
                CuFileBatch batch = driver.batch(ENTRIES)) {
            Bytes.put(driver, data, memory.range());
            long start = System.nanoTime();
            long bytes = file.write(memory.range(), 0);
            double seconds = (System.nanoTime() - start) / 1e9;
            driver.allocator().fill(memory.range(), (byte) 0);

            List<CuFileBatch.Request> requests = new ArrayList<>();
            for (int i = 0; i < ENTRIES; i++) {
                requests.add(CuFileBatch.Request.read(file, memory.range(), each, (long) i * each, (long) i * each));
            }
            start = System.nanoTime();
            batch.submit(requests);
            batch.cancel();
            List<CuFileBatch.Completion> all = new ArrayList<>();
            List<CuFileBatch.Completion> some = batch.await(1, Duration.ofSeconds(10));
            while (!some.isEmpty()) {
                all.addAll(some);
                some = batch.await(1, Duration.ofSeconds(10)); // empty when no entry is left
            }
            seconds += (System.nanoTime() - start) / 1e9;

            byte[] arrived = Bytes.in(driver, memory.range());
            Map<BatchStatus, Integer> counts = new EnumMap<>(BatchStatus.class);
            boolean verified = all.size() == ENTRIES;
            for (CuFileBatch.Completion completion : all) {
                counts.merge(completion.status(), 1, Integer::sum);
                if (completion.isComplete()) { // a complete entry has its bytes
                    bytes += completion.bytes();
                    int from = (int) completion.request().bufferOffset();
                    verified &= Arrays.equals(arrived, from, from + each, data, from, from + each);
                } else {
                    verified &= completion.status() == BatchStatus.CANCELED;
                }
            }
            arguments.say("%d entries of %d KiB: %s", all.size(), each >> 10, counts);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }
}
