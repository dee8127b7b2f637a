package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.CuFileBackend;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Many small requests in one submission ({@code cuFileBatchIO*}).
 *
 * <pre>{@code
 * try (CuFileBatch batch = driver.batch(128)) {
 *     batch.submit(requests);
 *     for (CuFileBatch.Completion done : batch.await(requests.size(), Duration.ofSeconds(10))) {
 *         total += done.bytes();          // throws if that entry failed
 *     }
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe. {@link #close} cancels what has not begun and waits for the rest.
 *
 * @since 0.1
 */
@Experimental
public final class CuFileBatch implements AutoCloseable {
    private static final String SUBMIT = "cuFileBatchIOSubmit";
    private static final String STATUS = "cuFileBatchIOGetStatus";

    private final CuFileDriver driver;
    private final BackendBatch batch;
    private final Outstanding outstanding = new Outstanding();
    private final Resource resource;

    private CuFileBatch(CuFileDriver driver, BackendBatch batch) {
        this.driver = driver;
        this.batch = batch;
        CuFileBackend backend = driver.session().backend();
        Outstanding held = outstanding;
        this.resource =
                Resource.of(this, driver.session(), "cuFileBatchIOSetUp", "CuFileBatch", () -> {
                    try {
                        backend.batchIoDestroy(batch);
                    } finally {
                        held.releaseAll();
                    }
                });
    }

    static CuFileBatch setUp(CuFileDriver driver, int capacity) {
        if (capacity < 1) {
            throw CuFileDriver.invalid("cuFileBatchIOSetUp", "capacity is below 1: " + capacity);
        }
        return new CuFileBatch(driver, driver.session().backend().batchIoSetUp(capacity));
    }

    /** Entries that may be outstanding at a time. */
    public int capacity() {
        return batch.capacity();
    }

    /**
     * Submits all requests or none ({@code cuFileBatchIOSubmit}). Their memory and handles are held until their completion
     * has been taken.
     *
     * @throws CuFileException INTERNAL_BATCH_SUBMIT_ERROR for an empty list or one that exceeds the free capacity, else what
     *         {@link CuFileHandle#read(IoMemory, long, long, long)} throws for such arguments
     */
    public void submit(List<Request> requests) {
        List<Request> copy = List.copyOf(requests);
        if (copy.isEmpty()) {
            throw CuFileException.of(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, SUBMIT, "no requests");
        }
        enter(SUBMIT);
        try {
            outstanding.submit(driver, batch, copy);
        } finally {
            resource.exit();
        }
    }

    /**
     * Waits for completions ({@code cuFileBatchIOGetStatus}); each is delivered once.
     *
     * @param minimum return once so many are there; 0 to poll
     * @param timeout how long to wait at most
     * @return those that are there: at least {@code minimum} unless the time ran out
     */
    public List<Completion> await(int minimum, Duration timeout) {
        Objects.requireNonNull(timeout, "timeout");
        if (minimum < 0 || minimum > capacity()) {
            throw CuFileDriver.invalid(
                    STATUS, "minimum is outside 0..%d: %d".formatted(capacity(), minimum));
        }
        enter(STATUS);
        try {
            List<BatchEvent> events = driver.session()
                    .backend()
                    .batchIoGetStatus(batch, minimum, capacity(), Optional.of(timeout));
            return outstanding.complete(events);
        } finally {
            resource.exit();
        }
    }

    /** Cancels what has not begun ({@code cuFileBatchIOCancel}); every entry still completes. */
    public void cancel() {
        enter("cuFileBatchIOCancel");
        try {
            driver.session().backend().batchIoCancel(batch);
        } finally {
            resource.exit();
        }
    }

    private void enter(String function) {
        if (!resource.enter()) {
            throw CuFileException.of(CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR, function, "the batch is closed");
        }
    }

    /** Cancels, waits and frees ({@code cuFileBatchIODestroy}). Idempotent. */
    @Override
    public void close() {
        resource.close();
    }

    /**
     * One request of a batch; arguments as of {@link CuFileHandle#read(IoMemory, long, long, long)}.
     *
     * @param write write the memory to the file; otherwise read
     */
    public record Request(
            CuFileHandle handle, boolean write, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        /** Reads. */
        public static Request read(
                CuFileHandle handle, IoMemory memory, long size, long fileOffset, long bufferOffset) {
            return new Request(handle, false, memory, size, fileOffset, bufferOffset);
        }

        /** Writes. */
        public static Request write(
                CuFileHandle handle, IoMemory memory, long size, long fileOffset, long bufferOffset) {
            return new Request(handle, true, memory, size, fileOffset, bufferOffset);
        }
    }

    /** The fate of one request. */
    public record Completion(Request request, BatchStatus status, long result) {
        /** True if it moved its bytes. */
        public boolean isComplete() {
            return status == BatchStatus.COMPLETE;
        }

        /**
         * Bytes moved.
         *
         * @throws CuFileException if the entry failed or was cancelled
         */
        public long bytes() {
            Optional<CuFileException> failure = failure();
            if (failure.isPresent()) {
                throw failure.get();
            }
            return result;
        }

        /** Why it moved nothing; empty if it did. */
        public Optional<CuFileException> failure() {
            if (isComplete()) {
                return Optional.empty();
            }
            long code = -result;
            Optional<CuFileError> cuFile = CuFileError.of(Math.toIntExact(Math.min(Math.abs(code), Integer.MAX_VALUE)));
            CuFileException.Builder failure = CuFileException.builder(request.write() ? "cuFileWrite" : "cuFileRead")
                    .error(cuFile.orElse(CuFileError.IO_ERROR))
                    .path(request.handle().path())
                    .range(request.fileOffset(), request.size())
                    .detail("batch entry " + status);
            if (cuFile.isEmpty() && code > 0 && code < 4096) {
                failure.errno((int) code);
            }
            return Optional.of(failure.build());
        }
    }

    /** Requests whose completion has not been taken yet, by cookie. */
    private static final class Outstanding {
        private final Map<Long, Request> requests = new HashMap<>();
        private long nextCookie;

        synchronized void submit(CuFileDriver driver, BackendBatch batch, List<Request> list) {
            List<BatchRequest> raw = new ArrayList<>(list.size());
            int held = 0;
            boolean done = false;
            try {
                for (Request request : list) {
                    raw.add(hold(driver, request, nextCookie + held));
                    held++;
                }
                driver.session().backend().batchIoSubmit(batch, raw, 0);
                done = true;
            } finally {
                if (!done) {
                    list.subList(0, held).forEach(Outstanding::release);
                }
            }
            for (Request request : list) {
                requests.put(nextCookie++, request);
            }
        }

        private static BatchRequest hold(CuFileDriver driver, Request request, long cookie) {
            CuFileHandle handle = request.handle();
            if (handle.driver().session() != driver.session()) {
                throw CuFileException.of(
                        CuFileError.HANDLE_NOT_REGISTERED, SUBMIT, "the handle belongs to another driver session");
            }
            MemoryRange range = handle.check(
                    SUBMIT, request.memory(), request.size(), request.fileOffset(), request.bufferOffset());
            handle.use(SUBMIT);
            boolean done = false;
            try {
                handle.hold(SUBMIT, request.memory());
                done = true;
            } finally {
                if (!done) {
                    handle.unuse();
                }
            }
            return new BatchRequest(
                    handle.file(),
                    request.write(),
                    range,
                    request.size(),
                    request.fileOffset(),
                    request.bufferOffset(),
                    cookie);
        }

        synchronized List<Completion> complete(List<BatchEvent> events) {
            List<Completion> done = new ArrayList<>(events.size());
            for (BatchEvent event : events) {
                Request request = requests.remove(event.cookie());
                if (request == null) {
                    throw CuFileException.of(
                            CuFileError.INTERNAL_ERROR, STATUS, "an event for an unknown entry: " + event);
                }
                release(request);
                done.add(new Completion(request, event.status(), event.result()));
            }
            return done;
        }

        synchronized void releaseAll() {
            requests.values().forEach(Outstanding::release);
            requests.clear();
        }

        private static void release(Request request) {
            CuFileHandle.letGo(request.memory());
            request.handle().unuse();
        }
    }
}
