package io.gds4j.libcufile.batch;

import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.guard.Transfers;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.libcufile.process.SlabBudget;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.TransferArguments;
import io.gds4j.statistics.IoPath;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A batch of one session. Entries that the library handles without corrupting the process go to its own batch, see
 * {@link #isForTheLibrary}. Threads of the session serve the others as single transfers.
 *
 * <p>
 * Entries for the library wait here, in order, until {@link SlabBudget} has slabs for them. They are passed on when the
 * program submits entries or asks for events. An entry that the library refuses then becomes a failed event.
 */
final class LibraryBatch implements BackendBatch, SlabBudget.Holder {
    private static final Logger LOG = System.getLogger("io.gds4j.libcufile");
    private static final String SUBMIT = "cuFileBatchIOSubmit";
    private static final String STATUS = "cuFileBatchIOGetStatus";
    /** Longest call that asks the library for events, so that other threads get the lock in between. */
    private static final Duration SLICE = Duration.ofMillis(1);
    /** Pause of a batch whose entries all wait for slabs of other batches. */
    private static final Duration STARVED_PAUSE = Duration.ofNanos(100_000);
    /** Events that have not come in this time after the batch was destroyed never will. */
    private static final Duration LOST = Duration.ofSeconds(30);
    private static final long NO_TIMEOUT = Long.MAX_VALUE;
    /** Half of the largest file on a large file system, bytes. */
    private static final long FARTHEST_WRITE = 1L << 43;

    private final BatchSlots inside;
    private final SlabBudget slabs;
    private final Transfers transfers;
    private final CuFileCounters statistics;
    private final int capacity;
    private final EntryThreads<BatchEntry> singles;
    private int singleCount;
    private final Deque<BatchEntry> waiting = new ArrayDeque<>();
    private final Deque<BatchEvent> ready = new ArrayDeque<>();
    private boolean destroyed;
    private boolean freed;

    /** @param threads run single transfers; they outlive the batch */
    LibraryBatch(
            OpenLibrary openLibrary,
            Transfers transfers,
            CuFileCounters statistics,
            Cuda cuda,
            Executor threads,
            int capacity) {
        this.inside = new BatchSlots(openLibrary, cuda, capacity, System::nanoTime);
        this.slabs = openLibrary.slabs();
        this.transfers = transfers;
        this.statistics = statistics;
        this.capacity = capacity;
        this.singles = new EntryThreads<>(threads, this::serve);
        slabs.add(this);
    }

    @Override
    public int capacity() {
        return capacity;
    }

    /** True while the library works for this batch. */
    synchronized boolean isBusy() {
        return inside.taken() + singleCount > 0;
    }

    private int outstanding() {
        return inside.taken() + singleCount + waiting.size() + ready.size();
    }

    /** Submits all requests or none. */
    synchronized void submit(List<BatchRequest> requests, Function<BatchRequest, LibraryFile> owner) {
        checkAlive(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, SUBMIT);
        reap(0);
        int free = capacity - outstanding();
        if (requests.isEmpty() || requests.size() > free) {
            throw CuFileException.of(
                    CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                    SUBMIT,
                    "%s requests, allowed: 1 to %s, the free capacity".formatted(requests.size(), free));
        }
        List<BatchEntry> entered = new ArrayList<>(requests.size());
        long now = System.nanoTime();
        boolean done = false;
        try {
            for (BatchRequest request : requests) {
                entered.add(checked(request, owner, now));
            }
            feed();
            List<BatchEntry> moving =
                    entered.stream().filter(entry -> entry.size() > 0 && isForTheLibrary(entry)).toList();
            waiting.addAll(moving);
            int before = waiting.size();
            @Nullable CuFileException refused = feedOnce();
            if (refused != null && waiting.size() == before && before == moving.size()) {
                waiting.clear();
                throw refused;
            }
            done = true;
            entered.stream().filter(entry -> entry.size() == 0)
                    .forEach(entry -> finish(entry, BatchStatus.COMPLETE, 0));
            List<BatchEntry> single =
                    entered.stream().filter(entry -> entry.size() > 0 && !isForTheLibrary(entry)).toList();
            serveOnThreads(single);
        } finally {
            if (!done) {
                entered.forEach(entry -> entry.file().exit());
            }
        }
        feed();
    }

    /**
     * True for an entry that the library moves directly. The library's threads serve the others by POSIX I/O: those of files
     * that it serves by POSIX I/O, of host memory, and of parts of blocks. Its threads go on with such an entry after its event
     * was taken. Then they use freed memory of the library, which corrupts the C heap, and slabs of a pool that closing the
     * driver has released. Also false if no slab holds the entry, or if no file reaches the write's end: a refused submission
     * would free memory that is in use.
     */
    private boolean isForTheLibrary(BatchEntry entry) {
        BatchRequest request = entry.request();
        return entry.file().servedBy() != IoPath.LIBCUFILE_POSIX
                && !request.memory().kind().isHost()
                && Transfers.isPageAligned(request.fileOffset() | request.bufferOffset() | entry.size())
                && slabs.holds(entry.size())
                && (!request.write() || request.fileOffset() <= FARTHEST_WRITE - entry.size());
    }

    /** Has threads of the session serve entries as single transfers. Without any thread the entries fail. */
    private void serveOnThreads(List<BatchEntry> entries) {
        singleCount += entries.size();
        singles.add(entries).forEach(entry -> endSingle(entry, BatchStatus.FAILED, -Errno.EAGAIN));
    }

    /** Moves the bytes of a single entry, on a thread of the session. */
    private void serve(BatchEntry entry) {
        BatchRequest request = entry.request();
        BatchStatus status = BatchStatus.FAILED;
        long result;
        try {
            long moved = transfers.run(
                    Thread.currentThread(),
                    entry.file(),
                    request.operation(),
                    request.memory(),
                    entry.size() - entry.done(),
                    request.fileOffset() + entry.done(),
                    request.bufferOffset() + entry.done());
            entry.file().report(request, entry.done(), moved);
            result = entry.done() + moved;
            status = BatchStatus.COMPLETE;
        } catch (CuFileException e) {
            entry.file().report(request, entry.done(), e.bytesTransferred());
            result = -(long) e.errno().orElse(e.error().code());
        } catch (RuntimeException e) {
            LOG.log(Level.ERROR, "an entry of a batch failed", e);
            result = -CuFileError.INTERNAL_ERROR.code();
        } catch (OutOfMemoryError e) {
            result = -Errno.ENOMEM;
        }
        endSingle(entry, status, result);
    }

    private synchronized void endSingle(BatchEntry entry, BatchStatus status, long result) {
        singleCount--;
        finish(entry, status, result);
        notifyAll();
    }

    /** Checks one entry; an error fails the whole submission. */
    private BatchEntry checked(BatchRequest request, Function<BatchRequest, LibraryFile> owner, long now) {
        try {
            return enter(request, owner.apply(request), now);
        } catch (CuFileException e) {
            throw CuFileException.builder(SUBMIT)
                    .error(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR)
                    .path(request.file().path())
                    .detail("entry %s: %s".formatted(request.cookie(), e.detail()))
                    .cause(e)
                    .build();
        }
    }

    private BatchEntry enter(BatchRequest request, LibraryFile file, long now) {
        MemoryRange memory = request.memory();
        TransferArguments.check(
                SUBMIT,
                file,
                memory,
                request.size(),
                request.fileOffset(),
                request.bufferOffset(),
                request.operation());
        long context = transfers.contextOf(memory);
        if (!file.enter()) {
            throw file.refused(SUBMIT);
        }
        long size = request.write() ? request.size() : beforeTheEnd(file, request);
        return new BatchEntry(file, request, size, 0, slabs.classOf(size), context, now);
    }

    /** Ends a read at the end of the file: behind it the library changes memory, see {@link Transfers#beforeTheEnd}. */
    private static long beforeTheEnd(LibraryFile file, BatchRequest request) {
        long end = file.end();
        return end < 0 ? request.size() : Math.clamp(end - request.fileOffset(), 0, request.size());
    }

    /** Passes on as many entries as there are slabs for. Entries that the library refuses become failed events. */
    private void feed() {
        @Nullable CuFileException refused;
        do {
            refused = feedOnce();
            if (refused != null) {
                BatchEntry entry = waiting.remove();
                finish(entry, BatchStatus.FAILED, -refused.error().code());
            }
        } while (refused != null || mayFeed());
    }

    private boolean mayFeed() {
        BatchEntry next = waiting.peek();
        if (next == null || !slabs.tryTake(next.slabClass())) {
            return false;
        }
        slabs.giveBack(next.slabClass());
        return true;
    }

    /**
     * Passes on consecutive entries of one CUDA context. Returns the library's refusal, after which nothing has
     * changed, or null.
     */
    private @Nullable CuFileException feedOnce() {
        List<BatchEntry> run = new ArrayList<>();
        while (true) {
            BatchEntry next = waiting.peek();
            if (next == null
                    || !run.isEmpty() && next.context() != run.getFirst().context()
                    || !slabs.tryTake(next.slabClass())) {
                break;
            }
            run.add(waiting.remove());
        }
        if (run.isEmpty()) {
            return null;
        }
        try {
            inside.submit(run);
            return null;
        } catch (CuFileException e) {
            run.reversed().forEach(entry -> {
                slabs.giveBack(entry.slabClass());
                waiting.addFirst(entry);
            });
            return e;
        }
    }

    /** Waits for events and takes them; each is delivered once. */
    List<BatchEvent> await(int minimum, int maximum, Optional<Duration> limit) {
        long deadline = limit.map(LibraryBatch::deadline).orElse(NO_TIMEOUT);
        while (true) {
            boolean starved;
            synchronized (this) {
                checkAlive(CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR, STATUS);
                reap(0);
                feed();
                long left = deadline == NO_TIMEOUT ? NO_TIMEOUT : deadline - System.nanoTime();
                int least = Math.min(minimum, outstanding());
                if (ready.size() >= least || left <= 0) {
                    return take(maximum);
                }
                starved = inside.taken() + singleCount == 0;
                if (inside.taken() > 0) {
                    reap(Math.min(left, SLICE.toNanos()));
                } else if (singleCount > 0) {
                    awaitSingle(waiting.isEmpty() ? left : Math.min(left, SLICE.toNanos()));
                }
            }
            if (Thread.currentThread().isInterrupted()) {
                throw CuFileException.builder(STATUS)
                        .error(CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR)
                        .detail("interrupted; the entries go on")
                        .buildInterrupted();
            }
            if (starved) {
                slabs.reapOthers(this);
                LockSupport.parkNanos(STARVED_PAUSE.toNanos());
            }
        }
    }

    /** Waits, without the lock, until a single transfer ends. The interrupt flag stays set. */
    private void awaitSingle(long nanos) {
        try {
            TimeUnit.NANOSECONDS.timedWait(this, Math.max(nanos, 1));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static long deadline(Duration limit) {
        long now = System.nanoTime();
        try {
            return Math.addExact(now, limit.toNanos());
        } catch (ArithmeticException e) {
            return NO_TIMEOUT;
        }
    }

    private List<BatchEvent> take(int maximum) {
        List<BatchEvent> taken = new ArrayList<>();
        while (taken.size() < maximum && !ready.isEmpty()) {
            taken.add(ready.remove());
        }
        return taken;
    }

    @Override
    public synchronized void reap() {
        if (!destroyed) {
            reap(0);
        }
    }

    private void reap(long waitNanos) {
        inside.reap(waitNanos, this::deliver, this::lose);
    }

    private void deliver(BatchEntry entry, BatchStatus status, long moved) {
        slabs.giveBack(entry.slabClass());
        if (moved < 0) {
            finish(entry, status, moved);
            return;
        }
        entry.file().countMoved(entry.request().operation(), moved);
        entry.file().report(entry.request(), entry.done(), moved);
        if (moved < entry.size()) {
            // The library ends an entry early that does not fit into a slab.
            serveOnThreads(List.of(entry.after(moved)));
        } else {
            finish(entry, status, moved);
        }
    }

    /**
     * Fails an entry whose event the library has lost. Its slab and its handle are given up: the library may still use
     * them.
     */
    private void lose(BatchEntry entry) {
        entry.file().abandon();
        finish(entry, BatchStatus.FAILED, -CuFileError.INTERNAL_ERROR.code());
    }

    private void finish(BatchEntry entry, BatchStatus status, long result) {
        entry.file().exit();
        BatchRequest request = entry.request();
        if (status != BatchStatus.CANCELED) {
            statistics.batchProcessed(
                    entry.file().servedBy(),
                    request.operation(),
                    status == BatchStatus.COMPLETE,
                    Math.max(0, result),
                    entry.submitted());
        }
        ready.add(new BatchEvent(request.cookie(), status, result));
    }

    /**
     * Cancels entries that wait here; each still gets its event. The library is not told: it would drop the events of
     * its entries and go on moving their bytes.
     */
    synchronized void cancel() {
        if (!destroyed) {
            cancelAll();
        }
    }

    private void cancelAll() {
        while (!waiting.isEmpty()) {
            finish(waiting.remove(), BatchStatus.CANCELED, -Errno.ECANCELED);
        }
        singles.takeWaiting().forEach(entry -> endSingle(entry, BatchStatus.CANCELED, -Errno.ECANCELED));
    }

    /** Cancels entries that wait, awaits those that have begun, and frees the batch. Later calls wait for the first one. */
    synchronized void destroy() {
        if (destroyed) {
            awaitWhile(() -> !freed);
            return;
        }
        destroyed = true;
        long deadline = deadline(LOST);
        try {
            cancelAll();
            while (inside.taken() > 0 && System.nanoTime() < deadline) {
                reap(SLICE.toNanos());
            }
            awaitWhile(() -> singleCount > 0);
        } finally {
            slabs.remove(this);
            if (inside.taken() == 0) {
                inside.destroy();
            } else {
                giveUp();
            }
            freed = true;
            notifyAll();
        }
    }

    private void awaitWhile(BooleanSupplier condition) {
        Uninterruptibly.await(() -> {
            while (condition.getAsBoolean()) {
                wait();
            }
        });
    }

    /** Leaves the library's memory and the files as they are: some events never came. */
    private void giveUp() {
        LOG.log(
                Level.WARNING,
                "libcufile lost {0} entries of a batch; their memory and files are never freed",
                inside.taken());
        inside.inside().forEach(entry -> {
            entry.file().abandon();
            entry.file().exit();
        });
    }

    private void checkAlive(CuFileError error, String function) {
        if (destroyed) {
            throw CuFileException.of(error, function, "the batch is destroyed");
        }
    }
}
