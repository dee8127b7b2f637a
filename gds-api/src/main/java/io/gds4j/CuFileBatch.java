package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.memory.IoMemory;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.CuFileBackend;
import java.time.Duration;
import java.util.List;
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
 * Thread-safe. Files and memory of entries cannot be closed before their completion is taken or the batch is closed;
 * {@link #close} cancels what has not begun and waits for the rest. After it, or after the driver's, every method but
 * {@link #capacity}, {@link #isOpen} and {@link #close} throws the error of its C function (INTERNAL_BATCH_SUBMIT_ERROR,
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

    /** {@return entries that may be outstanding at a time} */
    public int capacity() {
        return batch.capacity();
    }

    /** {@return entries that were submitted and whose completion has not been taken} */
    public int outstanding() {
        return ledger.outstanding();
    }

    /**
     * Submits all requests or none ({@code cuFileBatchIOSubmit}).
     *
     * @param requests what to do
     * @throws CuFileException INTERNAL_BATCH_SUBMIT_ERROR for an empty list or one that exceeds the free capacity;
     *         CUDA_MEMORY_TYPE_INVALID for a segment of an arena that could be closed meanwhile; else what
     *         {@link CuFileHandle#read(IoMemory, long, long, long)} throws for such arguments
     */
    public void submit(List<Request> requests) {
        List<Request> copy = List.copyOf(requests);
        if (copy.isEmpty()) {
            throw CuFileException.of(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, BatchLedger.SUBMIT, "no requests");
        }
        enter(BatchLedger.SUBMIT, CuFileError.INTERNAL_BATCH_SUBMIT_ERROR);
        try {
            List<BatchRequest> entered = ledger.enter(copy);
            boolean submitted = false;
            try {
                backend.batchIoSubmit(batch, entered, 0);
                submitted = true;
            } finally {
                if (!submitted) {
                    ledger.remove(entered);
                }
            }
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Waits for completions ({@code cuFileBatchIOGetStatus}); each is delivered once.
     *
     * @param minimum number of completions to wait for, or all that are outstanding; 0 to poll
     * @param timeout how long to wait at most
     * @return the completions: at least {@code minimum} unless the time ran out or fewer are outstanding
     * @throws CuFileException INVALID_VALUE for a negative time or a minimum outside 0 to {@link #capacity}
     */
    public List<Completion> await(int minimum, Duration timeout) {
        Objects.requireNonNull(timeout, "timeout");
        if (minimum < 0 || minimum > capacity()) {
            throw Failures.invalid(STATUS, "minimum is %d, allowed: 0 to %d".formatted(minimum, capacity()));
        }
        if (timeout.isNegative()) {
            throw Failures.invalid(STATUS, "timeout is " + timeout + ", allowed: 0 or more");
        }
        enter(STATUS, CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR);
        try {
            int least = Math.min(minimum, ledger.awaited());
            List<BatchEvent> events = backend.batchIoGetStatus(batch, least, capacity(), Optional.of(timeout));
            return ledger.complete(events);
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Moves the bytes of all requests, however many, and waits for them: what fits into the batch is submitted, the rest as
     * places come free. Meanwhile no other call may submit entries or take completions. When it returns or throws, none of them
     * is at work.
     *
     * @param requests what to do
     * @return what became of each, in the order of {@code requests}; all are complete, reads short at the end of a file alone
     * @throws CuFileBatchException if any failed; it lists every one that did
     * @throws CuFileException as {@link #submit}; INTERNAL_BATCH_SUBMIT_ERROR while other entries are outstanding,
     *         INTERNAL_BATCH_GETSTATUS_ERROR if another call takes completions meanwhile
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; what has not begun is cancelled
     */
    public List<Completion> transferAll(List<Request> requests) {
        return new BulkTransfer(this, requests).run();
    }

    /** Cancels what has not begun ({@code cuFileBatchIOCancel}); every entry still completes. */
    public void cancel() {
        enter("cuFileBatchIOCancel", CuFileError.INTERNAL_BATCH_CANCEL_ERROR);
        try {
            backend.batchIoCancel(batch);
        } finally {
            lifetime.exit();
        }
    }

    private void enter(String function, CuFileError closed) {
        if (!lifetime.enter()) {
            throw CuFileException.of(
                    closed, function, use.session().isOpen() ? "the batch is closed" : "the driver is closed");
        }
    }

    /** {@return true until {@link #close}} */
    public boolean isOpen() {
        return lifetime.isOpen();
    }

    /**
     * Cancels what has not begun, waits for the rest, and frees ({@code cuFileBatchIODestroy}). Idempotent: any later or
     * simultaneous call returns when it is done.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) from inside a call on this batch
     */
    @Override
    public void close() {
        lifetime.close("cuFileBatchIODestroy");
    }

    /**
     * One request of a batch; arguments as of {@link CuFileHandle#read(IoMemory, long, long, long)}.
     *
     * @param handle the file
     * @param write write the memory to the file; otherwise read
     * @param memory what is written or filled
     * @param size bytes, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     */
    public record Request(
            CuFileHandle handle, boolean write, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        /** Refuses null. */
        public Request {
            Objects.requireNonNull(handle, "handle");
            Objects.requireNonNull(memory, "memory");
        }

        /**
         * Reads.
         *
         * @param handle the file
         * @param memory what is filled
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
         * Writes.
         *
         * @param handle the file
         * @param memory what is written
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
     * The fate of one request.
     *
     * @param request what was asked
     * @param status how it ended
     * @param result bytes moved, or a negative errno or a negative cuFile code
     */
    public record Completion(Request request, BatchStatus status, long result) {

        private static final int LARGEST_ERRNO = 4095;

        /** {@return true if it moved its bytes, or those up to the end of the file} */
        public boolean isComplete() {
            return status == BatchStatus.COMPLETE && result >= 0;
        }

        /**
         * Bytes moved.
         *
         * @return bytes
         * @throws CuFileException if the entry failed or was cancelled
         */
        public long bytes() {
            Optional<CuFileException> failure = failure();
            if (failure.isPresent()) {
                throw failure.get();
            }
            return result;
        }

        /**
         * Why it moved nothing; empty if it did. IO_ERROR with the errno, or ECANCELED or ETIMEDOUT; the cuFile code where the
         * backend gave one; INTERNAL_BATCH_SUBMIT_ERROR for an ill-formed entry.
         *
         * @return the failure
         */
        public Optional<CuFileException> failure() {
            if (isComplete()) {
                return Optional.empty();
            }
            long code = result < 0 && result > Integer.MIN_VALUE ? -result : 0;
            CuFileException.Builder failure = CuFileException.builder(request.write() ? "cuFileWrite" : "cuFileRead")
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
            } else if (code > 0 && code <= LARGEST_ERRNO) {
                failure.errno((int) code);
            } else if (code > 0) {
                CuFileError.of((int) code).ifPresent(failure::error);
            }
            return Optional.of(failure.build());
        }
    }
}
