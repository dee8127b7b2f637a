package io.gds4j.libcufile.batch;

import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.guard.LibraryPreconditions;
import io.gds4j.libcufile.guard.Transfers;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Function;

/** The batches of one session. Counts each call of {@code cuFileBatchIO*} and passes it to its {@link LibraryBatch}. */
public final class SessionBatches {
    private static final String SET_UP = "cuFileBatchIOSetUp";
    private static final String SUBMIT = "cuFileBatchIOSubmit";
    private static final String STATUS = "cuFileBatchIOGetStatus";

    private final OpenLibrary openLibrary;
    private final Transfers transfers;
    private final CuFileCounters statistics;
    private final Cuda cuda;
    private final Executor threads;
    private final Function<BatchRequest, LibraryFile> owner;
    private final Set<LibraryBatch> batches = new HashSet<>();
    private boolean closed;

    /**
     * @param threads run single transfers
     * @param owner returns the file of a request; throws if it is not of this session
     */
    public SessionBatches(
            OpenLibrary openLibrary,
            Transfers transfers,
            CuFileCounters statistics,
            Cuda cuda,
            Executor threads,
            Function<BatchRequest, LibraryFile> owner) {
        this.openLibrary = openLibrary;
        this.transfers = transfers;
        this.statistics = statistics;
        this.cuda = cuda;
        this.threads = threads;
        this.owner = owner;
    }

    public LibraryBatch setUp(int capacity) {
        boolean succeeded = false;
        try {
            LibraryPreconditions.batchCapacity(capacity, openLibrary.settings().get(CuFileKeys.IO_BATCHSIZE));
            LibraryBatch batch = made(capacity);
            succeeded = true;
            return batch;
        } finally {
            statistics.batchSetUp(succeeded);
        }
    }

    private synchronized LibraryBatch made(int capacity) {
        if (closed) {
            throw OpenLibrary.closed(SET_UP);
        }
        LibraryBatch batch = new LibraryBatch(openLibrary, transfers, statistics, cuda, threads, capacity);
        batches.add(batch);
        return batch;
    }

    public void submit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        long begun = System.nanoTime();
        boolean succeeded = false;
        try {
            LibraryPreconditions.batchFlags(flags);
            own(batch, CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, SUBMIT).submit(requests, owner);
            succeeded = true;
        } finally {
            statistics.batchSubmitted(succeeded, requests, request -> LibraryFile.pathOf(request.file()), begun);
        }
    }

    public List<BatchEvent> await(BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        boolean succeeded = false;
        try {
            if (minimum < 0 || maximum < minimum) {
                throw CuFileException.invalid(
                        STATUS, "minimum is %s, allowed: 0 to the maximum of %s".formatted(minimum, maximum));
            }
            List<BatchEvent> events =
                    own(batch, CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR, STATUS).await(minimum, maximum, timeout);
            succeeded = true;
            return events;
        } finally {
            statistics.batchAsked(succeeded);
        }
    }

    /** Cancels a batch; ignores one of another session, as the library does. */
    public void cancel(BackendBatch batch) {
        if (batch instanceof LibraryBatch own && has(own)) {
            own.cancel();
        }
        statistics.batchCancelled();
    }

    /** Destroys a batch; ignores one of another session, and one that is already destroyed. */
    public void destroy(BackendBatch batch) {
        if (batch instanceof LibraryBatch own && has(own)) {
            // The batch stays in the set meanwhile, so that close() waits for it, too.
            own.destroy();
            boolean removed;
            synchronized (this) {
                removed = batches.remove(own);
            }
            if (removed) {
                statistics.batchDestroyed();
            }
        }
    }

    private LibraryBatch own(BackendBatch batch, CuFileError error, String function) {
        if (batch instanceof LibraryBatch own && has(own)) {
            return own;
        }
        throw CuFileException.of(error, function, "not a batch of this driver session");
    }

    private synchronized boolean has(LibraryBatch batch) {
        return batches.contains(batch);
    }

    /** True while the library works for one of the batches. */
    public synchronized boolean isBusy() {
        return batches.stream().anyMatch(LibraryBatch::isBusy);
    }

    /** Cancels in all batches the entries that have not begun: the JVM exits. */
    public void cancelAll() {
        List<LibraryBatch> open;
        synchronized (this) {
            open = List.copyOf(batches);
        }
        open.forEach(LibraryBatch::cancel);
    }

    /** Destroys all batches; no new one can be set up. */
    public void close() {
        List<LibraryBatch> open;
        synchronized (this) {
            closed = true;
            open = List.copyOf(batches);
            batches.clear();
        }
        open.forEach(LibraryBatch::destroy);
    }
}
