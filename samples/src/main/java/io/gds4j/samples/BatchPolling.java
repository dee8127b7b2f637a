package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;

/** Does other work and polls a batch for completions in between (topic 22). */
final class BatchPolling {
    private static final int ENTRIES = 64;
    private static final int EACH = 64 << 10;
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String LESSON =
            "A minimum of 0 polls without waiting; each completion is returned once, so the caller must keep it.";

    private BatchPolling() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(BatchPolling::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        byte[] data = SampleArguments.randomBytes(ENTRIES * EACH);
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length);
                CuFileBatch batch = driver.batch(ENTRIES)) {
            Bytes.put(driver, data, memory.range());
            List<CuFileBatch.Request> requests = new ArrayList<>();
            for (int i = 0; i < ENTRIES; i++) {
                requests.add(CuFileBatch.Request.write(file, memory.range(), EACH, (long) i * EACH, (long) i * EACH));
            }
            long start = System.nanoTime();
            batch.submit(requests);
            long bytes = 0;
            CRC32C own = new CRC32C();
            int most = 0;
            int polls = 0;
            while (batch.outstanding() > 0 && System.nanoTime() - start < PATIENCE.toNanos()) {
                List<CuFileBatch.Completion> done = batch.await(0, Duration.ZERO);
                for (CuFileBatch.Completion completion : done) {
                    bytes += completion.bytes();
                }
                most = Math.max(most, done.size());
                polls++;
                own.update(data, 0, EACH); // stands for other work
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            arguments.say(
                    "%d polls, at most %d completions in one; a checksum of the other work is %x",
                    polls, most, own.getValue());

            driver.allocator().fill(memory.range(), (byte) 0);
            file.read(memory.range(), 0);
            boolean verified = Arrays.equals(Bytes.in(driver, memory.range()), data);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }
}
