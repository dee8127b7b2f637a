package io.gds4j.compat.batch;

import io.gds4j.compat.file.RequestLog;
import io.gds4j.compat.file.RequestLog.Severity;
import io.gds4j.compat.transfer.RequestExecutor;
import io.gds4j.compat.work.RequestContext;
import io.gds4j.compat.work.TransferEngine;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Predicate;

/** The batches of a driver session: the functions {@code cuFileBatchIO*}. */
public final class CompatBatches {
    private static final String SET_UP = "cuFileBatchIOSetUp";
    private static final String SUBMIT = "cuFileBatchIOSubmit";
    private static final String STATUS = "cuFileBatchIOGetStatus";

    /** Shortest time for which a thread waits that may help meanwhile: what it claims is in the page cache, and takes a millisecond. */
    private static final Duration LONG = Duration.ofMillis(500);

    private final RequestExecutor executor;
    /** {@code properties.io_batchsize}. */
    private final int largest;
    private final IoUringUse ioUring;
    private final RequestRunners runners;
    private final CuFileCounters counters;
    private final RequestLog log;
    private final Set<CompatBatch> batches = ConcurrentHashMap.newKeySet();

    /**
     * Has no batch yet, and tries io_uring if the configuration prefers it.
     *
     * @param bytes counts what goes through io_uring
     */
    public CompatBatches(
            Posix posix, CuFileConfig config, TransferEngine engine, RequestExecutor executor, PathCounters bytes,
            CuFileCounters counters, RequestLog log) {
        this.executor = executor;
        this.largest = config.get(CuFileKeys.IO_BATCHSIZE).intValue();
        this.ioUring = new IoUringUse(posix, config.get(CuFileKeys.PREFER_IOURING));
        this.counters = counters;
        this.log = log;
        Function<RequestContext, EntryRunner> makeRunner = context -> {
            UringTransfers uringTransfers = new UringTransfers(executor, ioUring, bytes);
            CoalescedDeviceReads deviceReads = new CoalescedDeviceReads(context.thread(), executor, uringTransfers);
            return new CompatEntryRunner(context, executor, deviceReads, uringTransfers, counters, log);
        };
        this.runners = ioUring.isOn()
                ? RequestRunners.withIoUring(engine, makeRunner)
                : new RequestRunners(engine, makeRunner);
    }

    /** Returns {@code off}, {@code on}, or why io_uring is not used. */
    public String ioUring() {
        return ioUring.state();
    }

    public BackendBatch setUp(int capacity) {
        boolean succeeded = capacity >= 1 && capacity <= largest;
        counters.batchSetUp(succeeded);
        if (!succeeded) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    SET_UP,
                    "capacity is %s, allowed: 1 to %s (properties.io_batchsize)".formatted(capacity, largest));
        }
        CompatBatch batch = new CompatBatch(capacity);
        batches.add(batch);
        log.log(Severity.DEBUG, "%s entries=%s", SET_UP, capacity);
        return batch;
    }

    public void submit(BackendBatch batch, List<BatchRequest> requests) {
        long begun = System.nanoTime();
        boolean succeeded = false;
        try {
            CompatBatch ours = own(batch, CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, SUBMIT);
            if (requests.isEmpty()) {
                throw CuFileException.of(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, SUBMIT, "no requests");
            }
            List<BatchRequest> entries = List.copyOf(requests);
            entries.forEach(this::check);
            boolean waitsForDisk = waitsForDisk(entries); // not under the lock of the batch: the kernel may answer late
            Submission submission =
                    ours.enter(entries.size(), into -> new Submission(into, entries, waitsForDisk));
            try {
                runners.run(submission);
                succeeded = true;
            } finally {
                if (!succeeded) {
                    ours.withdraw(submission);
                }
            }
            log.log(Severity.DEBUG, "%s entries=%s", SUBMIT, entries.size());
        } catch (CuFileException e) {
            log.failed(e);
            throw e;
        } finally {
            counters.batchSubmitted(succeeded, requests, request -> RequestExecutor.STATISTICS_PATH, begun);
        }
    }

    /**
     * Asks about three entries, which represent the others: the answer decides only how they are served, and the kernel takes 50
     * microseconds to tell of 8 MiB.
     */
    private boolean waitsForDisk(List<BatchRequest> entries) {
        return waitsForDisk(entries.getFirst()) || waitsForDisk(entries.getLast())
                || waitsForDisk(entries.get(entries.size() / 2));
    }

    private boolean waitsForDisk(BatchRequest entry) {
        return executor.waitsForDisk(entry, entry.size(), SUBMIT);
    }

    /** Checks an entry. An invalid entry makes its whole submission fail. */
    private void check(BatchRequest entry) {
        try {
            executor.check(entry, SUBMIT);
        } catch (CuFileException e) {
            throw CuFileException.builder(SUBMIT)
                    .error(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR)
                    .errno(e.errno().orElse(0))
                    .path(e.path())
                    .range(entry.fileOffset(), entry.size())
                    .detail(e.detail())
                    .cause(e)
                    .build();
        }
    }

    public List<BatchEvent> status(BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        boolean succeeded = false;
        try {
            CompatBatch ours = own(batch, CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR, STATUS);
            if (minimum < 0 || maximum < minimum) {
                throw CuFileException.of(
                        CuFileError.INVALID_VALUE,
                        STATUS,
                        "minimum is %s, allowed: 0 to %s".formatted(minimum, maximum));
            }
            Optional<Duration> left = timeout;
            if (timeout.isEmpty()) {
                help(ours, minimum, Submission.ANY);
            } else if (timeout.get().compareTo(LONG) >= 0) {
                long begun = System.nanoTime();
                // The kernel cannot always tell what is cached: a stretch may take longer than expected, but no other one follows it.
                help(ours, minimum, entries -> left(timeout.get(), begun).isPositive() && !waitsForDisk(entries));
                left = Optional.of(left(timeout.get(), begun));
            }
            List<BatchEvent> events = ours.take(minimum, maximum, left);
            succeeded = true;
            return events;
        } finally {
            counters.batchAsked(succeeded);
        }
    }

    private static Duration left(Duration timeout, long begun) {
        return timeout.minusNanos(System.nanoTime() - begun);
    }

    /** @param quick tells what the thread may read: one with a time limit must not wait for a disk */
    private void help(CompatBatch batch, int minimum, Predicate<List<BatchRequest>> quick) {
        // Another thread makes the CUDA calls of a virtual thread, which gains nothing by helping.
        Submission submission = Thread.currentThread().isVirtual() ? null : batch.unserved(minimum);
        while (submission != null
                && !Thread.currentThread().isInterrupted()
                && runners.help(submission, quick)) {
            submission = batch.unserved(minimum);
        }
    }

    /** Ignores an unknown batch, as libcufile does. */
    public void cancel(BackendBatch batch) {
        if (batch instanceof CompatBatch ours && batches.contains(ours)) {
            ours.cancel();
        }
        counters.batchCancelled();
    }

    /** Ignores an unknown batch, as libcufile does. */
    public void destroy(BackendBatch batch) {
        if (batch instanceof CompatBatch ours && batches.remove(ours)) {
            ours.destroy();
            counters.batchDestroyed();
        }
    }

    /** Returns the number of entries that are not done. */
    public long atWork() {
        return batches.stream().mapToLong(CompatBatch::atWork).sum();
    }

    /** Cancels the entries of all batches that have not begun. */
    public void cancelAll() {
        batches.forEach(CompatBatch::cancel);
    }

    /** Destroys all batches and ends the threads. */
    public void close() {
        for (CompatBatch batch : batches) {
            batches.remove(batch);
            batch.destroy();
        }
        runners.close();
    }

    private CompatBatch own(BackendBatch batch, CuFileError error, String function) {
        if (batch instanceof CompatBatch ours && batches.contains(ours)) {
            return ours;
        }
        throw CuFileException.of(error, function, "not a batch of this driver session: " + batch);
    }
}
