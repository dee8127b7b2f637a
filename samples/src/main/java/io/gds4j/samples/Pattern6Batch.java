package io.gds4j.samples;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBuffer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Pattern 6: many small reads in few submissions, which complete in any order. */
final class Pattern6Batch {
    /** Largest request in bytes: batches are for small requests. */
    static final int MAX_BYTES = 64 << 10;
    private static final int ENTRIES = 128;
    private static final String LESSON =
            "Small single requests leave a disk idle between them; a batch submits many with one call.";

    private Pattern6Batch() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Pattern6Batch::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException, InterruptedException {
        int request = Math.min(MAX_BYTES, arguments.ioSize());
        arguments.say("%d reads of %d bytes, %d at a time", Math.ceilDiv(arguments.size(), request), request, ENTRIES);
        return PatternFile.run(arguments, 0, pattern -> {
            try (CuFileBuffer buffer = pattern.driver().registerBuffer(pattern.memory());
                    CuFileBatch batch = pattern.driver().batch(ENTRIES)) {
                return pattern.measure(LESSON, (file, memory, data) -> {
                    long bytes = 0;
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
                    if (batch.outstanding() > 0) {
                        throw new IOException(batch.outstanding() + " reads of the batch did not complete");
                    }
                    return bytes;
                });
            }
        });
    }
}
