package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.memory.IoMemory;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.Operation;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Submits many small requests at once ({@code cuFileBatchIO*}).
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
 * Thread-safe. Files and memory of an entry cannot be closed before a caller takes its completion or closes the batch.
 * {@link #close} cancels entries that have not begun and waits for the others. After the batch or the driver is closed,
 * {@link #submit}, {@link #await} and {@link #cancel} throw the error of their C function (INTERNAL_BATCH_SUBMIT_ERROR,
 * INTERNAL_BATCH_GETSTATUS_ERROR, INTERNAL_BATCH_CANCEL_ERROR).
 *
 * @since 0.1
 */
@Experimental
public final class CuFileBatch implements AutoCloseable {
    private static final String SET_UP = "cuFileBatchIOSetUp";
    private static final String STATUS = "cuFileBatchIOGetStatus";

    private final CuFileBackend backend;
    private final BackendBatch batch;
    private final BatchLedger ledger;
    private final Lifetime lifetime;
    private final SessionUse use;
    private final AddedRequests added = new AddedRequests();

    private CuFileBatch(SessionUse use, BackendBatch batch) {
        Session session = use.session();
        CuFileBackend destroyer = session.backend();
        BatchLedger entries = new BatchLedger(session, batch.capacity());
        this.use = use;
        this.backend = destroyer;
        this.batch = batch;
        this.ledger = entries;
        this.lifetime = session.adopt(Session.Role.FEEDER, this, "CuFileBatch", () -> {
            try {
                destroyer.batchIoDestroy(batch);
            } finally {
                entries.removeAll();
            }
        });
    }

    static CuFileBatch setUp(SessionUse use, int capacity) {
        if (capacity < 1) {
            throw Failures.invalid(SET_UP, "capacity is " + capacity + ", allowed: 1 to properties.io_batchsize");
        }
        return use.session()
                .call(SET_UP, backend -> new CuFileBatch(use, backend.batchIoSetUp(capacity)));
    }

    /** {@return largest number of outstanding entries} */
    public int capacity() {
        return batch.capacity();
    }

    /** {@return number of submitted entries whose completion no caller has taken} */
    public int outstanding() {
        return ledger.outstanding();
    }

    /**
     * Submits all requests or none ({@code cuFileBatchIOSubmit}).
     *
     * @param requests the requests, at least one
     * @throws CuFileException INTERNAL_BATCH_SUBMIT_ERROR for an empty list, for one that exceeds the free capacity, and after
     *         close; CUDA_MEMORY_TYPE_INVALID for a segment of a confined or shared arena; for other invalid arguments as
     *         {@link CuFileHandle#read(IoMemory, long, long, long)}
     */
    public void submit(List<Request> requests) {
        List<Request> copy = List.copyOf(requests);
        if (copy.isEmpty()) {
            throw CuFileException.of(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, BatchLedger.SUBMIT, "no requests");
        }
        beginReports(copy);
        boolean submitted = false;
        try {
            submitAll(copy);
            submitted = true;
        } catch (RuntimeException | Error e) {
            refuse(copy, copy.size(), e);
            throw e;
        } finally {
            if (!submitted) {
                endReports(copy, copy.size());
            }
        }
    }

    /**
     * Submits the added requests, all or none; {@link #await(int, Duration)} and {@link #awaitAll} take their completions.
     *
     * @throws CuFileException as {@link #submit(List)}. Then the added requests are no longer added
     */
    public void submit() {
        added.submit(this);
    }

    private void submitAll(List<Request> requests) {
        try (Lifetime.Call _ = begin(BatchLedger.SUBMIT, CuFileError.INTERNAL_BATCH_SUBMIT_ERROR)) {
            List<BatchRequest> entered = ledger.enter(requests);
            boolean submitted = false;
            try {
                backend.batchIoSubmit(batch, entered, 0);
                submitted = true;
            } finally {
                if (!submitted) {
                    ledger.remove(entered);
                }
            }
        }
    }

    /** Begins the reports of requests that have one; none if another request fills one of them. */
    private static void beginReports(List<Request> requests) {
        int next = 0;
        try {
            for (; next < requests.size(); next++) {
                Request request = requests.get(next);
                request.report.ifPresent(report -> report.begin(request.check()));
            }
        } catch (CuFileException e) {
            refuse(requests, next, e);
            endReports(requests, next);
            throw e;
        }
    }

    private static void refuse(List<Request> requests, int count, Throwable thrown) {
        for (Request request : requests.subList(0, count)) {
            request.report.ifPresent(report -> report.fail(request.check(), thrown));
        }
    }

    private static void endReports(List<Request> requests, int count) {
        for (Request request : requests.subList(0, count)) {
            request.report.ifPresent(IoResult::over);
        }
    }

    /**
     * Waits for completions ({@code cuFileBatchIOGetStatus}) and returns each of them once.
     *
     * @param minimum number of completions to wait for, 0 to {@link #capacity}; 0 polls
     * @param timeout longest wait, 0 or more
     * @return the completions: at least {@code minimum}, unless the time ran out or fewer entries are outstanding
     * @throws CuFileException INVALID_VALUE (EINVAL) for a negative time or a minimum out of range,
     *         INTERNAL_BATCH_GETSTATUS_ERROR after close
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted
     */
    public List<Completion> await(int minimum, Duration timeout) {
        Objects.requireNonNull(timeout, "timeout");
        if (minimum < 0 || minimum > capacity()) {
            throw Failures.invalid(STATUS, "minimum is %s, allowed: 0 to %s".formatted(minimum, capacity()));
        }
        if (timeout.isNegative()) {
            throw Failures.invalid(STATUS, "timeout is " + timeout + ", allowed: 0 or more");
        }
        try (Lifetime.Call _ = begin(STATUS, CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR)) {
            int least = Math.min(minimum, ledger.awaited());
            List<BatchEvent> events = backend.batchIoGetStatus(batch, least, capacity(), Optional.of(timeout));
            return added.filled(ledger.complete(events));
        }
    }

    /**
     * Waits for all outstanding entries for a limited time ({@code cuFileBatchIOGetStatus}). A completion may be a failure:
     * {@link Completion#failure}.
     *
     * @param timeout longest wait, 0 or more; 0 polls
     * @return the completions; entries that were not over in time stay {@link #outstanding}
     * @throws CuFileException as {@link #await(int, Duration)}
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted
     */
    public List<Completion> await(Duration timeout) {
        return await(Math.min(outstanding(), capacity()), timeout);
    }

    /**
     * Submits any number of requests as the capacity allows, and waits until all are complete. No other call may submit entries
     * or take completions at the same time. When it returns or throws, no request is in flight.
     *
     * @param requests the requests, 0 or more
     * @return all completions, in the order of {@code requests}; a read is short only at the end of its file
     * @throws CuFileBatchException if a request failed; it lists all that failed
     * @throws CuFileException as {@link #submit}; INTERNAL_BATCH_SUBMIT_ERROR while other entries are outstanding,
     *         INTERNAL_BATCH_GETSTATUS_ERROR if another call takes completions
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; requests that have not begun are cancelled
     */
    public List<Completion> transferAll(List<Request> requests) {
        return new BulkTransfer(this, requests).run();
    }

    /**
     * Adds a request, which {@link #awaitAll} or {@link #submit()} submits. {@code awaitAll} submits any number, {@code submit} as many as
     * the {@link #capacity}.
     *
     * @param request the request
     */
    public void add(Request request) {
        added.add(Objects.requireNonNull(request, "request"));
    }

    /**
     * Adds a read, with the arguments of {@link CuFileHandle#read(IoMemory, long, long, long)}.
     *
     * @param handle the file
     * @param memory receives the bytes
     * @param size bytes, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     */
    public void addRead(CuFileHandle handle, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        add(Request.read(handle, memory, size, fileOffset, bufferOffset));
    }

    /**
     * Adds a read of the whole memory; see {@link #addRead(CuFileHandle, IoMemory, long, long, long)}.
     *
     * @param handle the file
     * @param memory receives the bytes
     * @param fileOffset first byte in the file
     */
    public void addRead(CuFileHandle handle, IoMemory memory, long fileOffset) {
        addRead(handle, memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Adds a write, with the arguments of {@link CuFileHandle#write(IoMemory, long, long, long)}.
     *
     * @param handle the file
     * @param memory holds the bytes
     * @param size bytes, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     */
    public void addWrite(CuFileHandle handle, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        add(Request.write(handle, memory, size, fileOffset, bufferOffset));
    }

    /**
     * Adds a write of the whole memory; see {@link #addWrite(CuFileHandle, IoMemory, long, long, long)}.
     *
     * @param handle the file
     * @param memory holds the bytes
     * @param fileOffset first byte in the file
     */
    public void addWrite(CuFileHandle handle, IoMemory memory, long fileOffset) {
        addWrite(handle, memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Adds a read that fills the segment. A segment over a Java array is filled when a caller has taken the completion, from a copy in native
     * memory; it is unchanged past the bytes read, and unchanged if the read fails.
     *
     * @param handle the file
     * @param segment receives the bytes: of the global or an automatic arena, or over a Java array
     * @param fileOffset first byte in the file
     * @throws CuFileException as {@link io.gds4j.memory.MemoryRange#ofSegment(MemorySegment)} for a native segment; NOMEM_ERROR if the
     *         JVM's limit of direct memory leaves too little for the copy
     */
    public void addRead(CuFileHandle handle, MemorySegment segment, long fileOffset) {
        added.add(handle, Operation.READ, segment, fileOffset);
    }

    /**
     * Adds a read into an array, through a copy; see {@link #addRead(CuFileHandle, MemorySegment, long)}.
     *
     * @param handle the file
     * @param bytes receives the bytes
     * @param fileOffset first byte in the file
     */
    public void addRead(CuFileHandle handle, byte[] bytes, long fileOffset) {
        addRead(handle, MemorySegment.ofArray(bytes), fileOffset);
    }

    /**
     * Adds a write of the segment. The bytes of a segment over a Java array are copied into native memory now: later changes of the array
     * are not written.
     *
     * @param handle the file
     * @param segment holds the bytes, as of {@link #addRead(CuFileHandle, MemorySegment, long)}
     * @param fileOffset first byte in the file
     * @throws CuFileException as {@link #addRead(CuFileHandle, MemorySegment, long)}
     */
    public void addWrite(CuFileHandle handle, MemorySegment segment, long fileOffset) {
        added.add(handle, Operation.WRITE, segment, fileOffset);
    }

    /**
     * Adds a write of an array, which it copies now; see {@link #addWrite(CuFileHandle, MemorySegment, long)}.
     *
     * @param handle the file
     * @param bytes holds the bytes
     * @param fileOffset first byte in the file
     */
    public void addWrite(CuFileHandle handle, byte[] bytes, long fileOffset) {
        addWrite(handle, MemorySegment.ofArray(bytes), fileOffset);
    }

    /**
     * Waits for all outstanding entries, then submits the added requests as {@link #transferAll} does and waits for them. No other call
     * may submit entries or take completions at the same time.
     *
     * @return all completions: of the outstanding entries, then of the added requests in the order of their addition. A read is short
     *         only at the end of its file
     * @throws CuFileBatchException if a request failed; it lists all that failed
     * @throws CuFileException as {@link #transferAll}. Then the added requests are no longer added
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted. Outstanding entries stay so; of added requests those
     *         that have not begun are cancelled, and no array has bytes of them
     */
    public List<Completion> awaitAll() {
        List<Completion> all = new ArrayList<>(await(outstanding(), BulkTransfer.FOREVER));
        all.addAll(added.transfer(this));
        return BulkTransfer.requireComplete(all);
    }

    /**
     * Waits for all entries, as {@link #awaitAll} does.
     *
     * @return all completions
     * @throws CuFileException as {@link #awaitAll}
     */
    public List<Completion> await() {
        return awaitAll();
    }

    /**
     * Cancels entries that have not begun ({@code cuFileBatchIOCancel}). Every entry still gets a completion.
     *
     * @throws CuFileException INTERNAL_BATCH_CANCEL_ERROR after close
     */
    public void cancel() {
        try (Lifetime.Call _ = begin("cuFileBatchIOCancel", CuFileError.INTERNAL_BATCH_CANCEL_ERROR)) {
            backend.batchIoCancel(batch);
        }
    }

    private Lifetime.Call begin(String function, CuFileError closed) {
        return lifetime.begin(() -> CuFileException.of(
                closed, function, use.session().isOpen() ? "the batch is closed" : "the driver is closed"));
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Cancels entries that have not begun, waits for the others, and frees the batch ({@code cuFileBatchIODestroy}). Idempotent;
     * concurrent and later calls wait until it is done.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) from inside a call on this batch, and from inside a source on a thread of the
     *         engine while entries are outstanding; nothing changes
     */
    @Override
    public void close() {
        if (isOpen() && ThreadState.current().servesAnotherCall() && outstanding() > 0) {
            throw CuFileException.of(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, "cuFileBatchIODestroy",
                    "CuFileBatch: it has entries, and cannot be closed from inside a source that serves them");
        }
        lifetime.close(this, "cuFileBatchIODestroy");
    }

    /**
     * A request of a batch; {@link CuFileBatch#submit} checks its arguments.
     *
     * @param handle the file
     * @param write true to write the memory to the file, false to read
     * @param memory memory that holds or receives the bytes; of an allocation, its range
     * @param size bytes, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param report the report that it fills; empty without one
     */
    public record Request(
            CuFileHandle handle, boolean write, IoMemory memory, long size, long fileOffset, long bufferOffset,
            Optional<IoResult> report) {
        /** Rejects null, and takes the range of an allocation. */
        public Request {
            Objects.requireNonNull(handle, "handle");
            memory = MemoryUse.plain(Objects.requireNonNull(memory, "memory"));
            Objects.requireNonNull(report, "report");
        }

        /**
         * Sets the parts of a request without a report.
         *
         * @param handle as {@link #handle}
         * @param write as {@link #write}
         * @param memory as {@link #memory}
         * @param size as {@link #size}
         * @param fileOffset as {@link #fileOffset}
         * @param bufferOffset as {@link #bufferOffset}
         */
        public Request(
                CuFileHandle handle, boolean write, IoMemory memory, long size, long fileOffset, long bufferOffset) {
            this(handle, write, memory, size, fileOffset, bufferOffset, Optional.empty());
        }

        /**
         * Returns this request with a report.
         *
         * @param result receives the report, also of a failure, before a caller takes the completion; one for each request
         * @return the request; {@link CuFileBatch#submit} refuses it (INVALID_VALUE) while another request fills the report
         */
        public Request reportTo(IoResult result) {
            return new Request(handle, write, memory, size, fileOffset, bufferOffset, Optional.of(result));
        }

        Operation operation() {
            return write ? Operation.WRITE : Operation.READ;
        }

        RequestCheck check() {
            return new RequestCheck(BatchLedger.SUBMIT, handle.path(), operation(), size, fileOffset, bufferOffset);
        }

        /**
         * Returns a request to read.
         *
         * @param handle the file
         * @param memory receives the bytes
         * @param size bytes, 0 to 2^62
         * @param fileOffset first byte in the file
         * @param bufferOffset first byte in the memory
         * @return the request
         */
        public static Request read(
                CuFileHandle handle, IoMemory memory, long size, long fileOffset, long bufferOffset) {
            return new Request(handle, false, memory, size, fileOffset, bufferOffset);
        }

        /**
         * Returns a request to write.
         *
         * @param handle the file
         * @param memory holds the bytes
         * @param size bytes, 0 to 2^62
         * @param fileOffset first byte in the file
         * @param bufferOffset first byte in the memory
         * @return the request
         */
        public static Request write(
                CuFileHandle handle, IoMemory memory, long size, long fileOffset, long bufferOffset) {
            return new Request(handle, true, memory, size, fileOffset, bufferOffset);
        }
    }

    /**
     * The outcome of a request. Its {@link #report} tells the I/O path, if the request {@linkplain Request#reportTo has one}.
     *
     * @param request the request
     * @param status final status
     * @param result bytes moved, or a negative errno or a negative cuFile code
     */
    public record Completion(Request request, BatchStatus status, long result) {
        /** {@return the report of the request; empty if it was submitted without one} */
        public Optional<IoResult> report() {
            return request.report();
        }

        /** {@return true if the request moved its bytes, or all up to the end of the file} */
        public boolean isComplete() {
            return status == BatchStatus.COMPLETE && result >= 0;
        }

        /**
         * Returns the bytes moved.
         *
         * @return bytes moved, 0 or more
         * @throws CuFileException {@link #failure} if the request failed or was cancelled
         */
        public long bytes() {
            Optional<CuFileException> failure = failure();
            if (failure.isPresent()) {
                throw failure.get();
            }
            return result;
        }

        /**
         * Returns why the request failed: IO_ERROR with an errno (ECANCELED if cancelled, ETIMEDOUT if timed out), the cuFile
         * code of the backend, or INTERNAL_BATCH_SUBMIT_ERROR for an invalid entry.
         *
         * @return the failure; empty if the request is complete
         */
        public Optional<CuFileException> failure() {
            if (isComplete()) {
                return Optional.empty();
            }
            CuFileException.Builder failure = CuFileException.builder(request.operation().function())
                    .path(request.handle().path())
                    .range(request.fileOffset(), request.size())
                    .detail("batch entry " + status)
                    .error(CuFileError.IO_ERROR);
            if (status == BatchStatus.CANCELED) {
                failure.errno(Errno.ECANCELED);
            } else if (status == BatchStatus.TIMEOUT) {
                failure.errno(Errno.ETIMEDOUT);
            } else if (status == BatchStatus.INVALID) {
                failure.error(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR);
            } else {
                Failures.ofResult(failure, result);
            }
            return Optional.of(failure.build());
        }
    }
}
