package io.gds4j.tools.io;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** Moves bytes by {@code cuFileBatchIO}: submits all requests at once. */
final class BatchMover implements Mover {
    private static final Duration TIMEOUT = Duration.ofMinutes(10);

    private final CuFileHandle handle;
    private final CuFileBatch batch;
    private final Map<CuFileBatch.Request, IoRequest> submitted = new IdentityHashMap<>();

    BatchMover(CuFileDriver driver, CuFileHandle handle, int depth) {
        this.handle = handle;
        this.batch = driver.batch(depth);
    }

    @Override
    public void move(IoRequest[] requests, int count) {
        List<CuFileBatch.Request> entries = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            CuFileBatch.Request plain = new CuFileBatch.Request(
                    handle, request.write, request.memory, request.size, request.fileOffset, request.bufferOffset);
            CuFileBatch.Request entry = request.report == null ? plain : plain.reportTo(request.report);
            entries.add(entry);
            submitted.put(entry, request);
        }
        long start = System.nanoTime();
        batch.submit(entries);
        while (!submitted.isEmpty()) {
            List<CuFileBatch.Completion> done = batch.await(submitted.size(), TIMEOUT);
            long end = System.nanoTime();
            for (CuFileBatch.Completion completion : done) {
                IoRequest request = submitted.remove(completion.request());
                request.startNanos = start;
                request.endNanos = end;
                ShortTransfer.check(request, completion.bytes());
            }
        }
    }

    @Override
    public void close() {
        batch.close();
    }
}
