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
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Pattern 6: many small reads in few submissions, which complete in any order. */
public final class Pattern6Batch {
    /** Largest request in bytes: batches are for small requests. */
    public static final int MOST_BYTES = 64 << 10;
    private static final int ENTRIES = 128;
    private static final String LESSON =
            "Small single requests leave a disk idle between them; a batch submits many with one call.";

    private Pattern6Batch() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Pattern6Batch::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException {
        byte[] data = SampleArguments.randomBytes(arguments.size());
        int request = Math.min(MOST_BYTES, arguments.ioSize());
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = arguments.allocate(driver, data.length);
                CuFileBuffer buffer = driver.registerBuffer(memory);
                CuFileBatch batch = driver.batch(ENTRIES)) {
            driver.allocator().copyFromHost(MemorySegment.ofArray(data), memory.range());
            file.write(memory.range(), 0); // bypasses the page cache, so the reads come from the disk
            driver.allocator().fill(memory.range(), (byte) 0);
            long bytes = 0;
            double seconds = 0;
            for (int round = 0; round < 2; round++) { // the first round warms the JVM up
                bytes = 0;
                long start = System.nanoTime();
                int next = 0;
                List<CuFileBatch.Completion> some;
                do {
                    List<CuFileBatch.Request> requests = new ArrayList<>();
                    for (; next < data.length && batch.outstanding() + requests.size() < ENTRIES; next += request) {
                        int part = Math.min(request, data.length - next);
                        requests.add(CuFileBatch.Request.read(file, buffer, part, next, next));
                    }
                    if (!requests.isEmpty()) {
                        batch.submit(requests);
                    }
                    some = batch.await(1, Duration.ofSeconds(10));
                    for (CuFileBatch.Completion done : some) {
                        bytes += done.bytes(); // throws if that read failed
                    }
                } while (!some.isEmpty());
                seconds = (System.nanoTime() - start) / 1e9;
                if (batch.outstanding() > 0) {
                    throw new IOException(batch.outstanding() + " reads of the batch did not complete");
                }
            }
            arguments.say("%d reads of %d bytes, %d at a time", Math.ceilDiv(data.length, request), request, ENTRIES);
            byte[] arrived = new byte[data.length];
            driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(arrived));
            return new SampleResult(bytes, seconds, Arrays.equals(arrived, data), driver.bytesByPath(), LESSON);
        }
    }
}
