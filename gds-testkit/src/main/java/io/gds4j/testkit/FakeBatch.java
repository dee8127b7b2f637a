package io.gds4j.testkit;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A batch whose entries run when a caller waits for them: as late as cuFile allows. Each poll runs one entry, so that a program that
 * polls ends. Thread-safe.
 */
final class FakeBatch implements BackendBatch {
    private static final String SUBMIT = "cuFileBatchIOSubmit";
    private static final String STATUS = "cuFileBatchIOGetStatus";

    private final int capacity;
    private final ToLongFunction<BatchRequest> mover;
    private final @Nullable Random random;
    private final List<BatchRequest> waiting = new ArrayList<>();
    private final Deque<BatchEvent> over = new ArrayDeque<>();
    private boolean destroyed;

    /**
     * @param mover moves the bytes of an entry
     * @param random decides the order of the entries; null for the order of submission
     */
    FakeBatch(int capacity, ToLongFunction<BatchRequest> mover, @Nullable Random random) {
        this.capacity = capacity;
        this.mover = mover;
        this.random = random;
    }

    @Override
    public int capacity() {
        return capacity;
    }

    /** Takes all entries, which the caller has checked, or none. */
    synchronized void submit(List<BatchRequest> requests) {
        if (destroyed) {
            throw CuFileException.of(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, SUBMIT, "the batch is destroyed");
        }
        int outstanding = waiting.size() + over.size();
        if (requests.isEmpty() || requests.size() > capacity - outstanding) {
            throw CuFileException.of(
                    CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                    SUBMIT,
                    "%s requests where %s of %s are outstanding".formatted(requests.size(), outstanding, capacity));
        }
        waiting.addAll(requests);
        notifyAll();
    }

    /** Runs entries until enough are over; waits only for entries of other threads. */
    synchronized List<BatchEvent> status(int minimum, int maximum, Optional<Duration> timeout) {
        if (minimum < 0 || maximum < minimum) {
            throw CuFileException.invalid(STATUS, "minimum is %s, allowed: 0 to %s".formatted(minimum, maximum));
        }
        long begun = System.nanoTime();
        long nanos = timeout.map(FakeBatch::nanos).orElse(Long.MAX_VALUE);
        if (minimum == 0 || nanos == 0) {
            runOne();
        }
        while (over.size() < minimum && nanos > 0) {
            checkOpen();
            checkInterrupt();
            if (!runOne()) {
                long left = nanos - (System.nanoTime() - begun);
                if (left <= 0) {
                    break;
                }
                await(left);
            }
        }
        checkOpen();
        List<BatchEvent> events = new ArrayList<>();
        while (events.size() < maximum && !over.isEmpty()) {
            events.add(over.remove());
        }
        return events;
    }

    private static long nanos(Duration time) {
        return time.compareTo(Duration.ofNanos(Long.MAX_VALUE)) < 0 ? time.toNanos() : Long.MAX_VALUE;
    }

    private void checkOpen() {
        if (destroyed) {
            throw CuFileException.of(CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR, STATUS, "the batch is destroyed");
        }
    }

    private static void checkInterrupt() {
        if (Thread.currentThread().isInterrupted()) {
            throw interrupted();
        }
    }

    private void await(long nanos) {
        try {
            TimeUnit.NANOSECONDS.timedWait(this, nanos);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw interrupted();
        }
    }

    private static CuFileException interrupted() {
        return CuFileException.builder(STATUS)
                .error(CuFileError.IO_ERROR)
                .errno(Errno.EINTR)
                .detail("interrupted")
                .buildInterrupted();
    }

    private boolean runOne() {
        if (waiting.isEmpty()) {
            return false;
        }
        BatchRequest entry = waiting.remove(random == null ? 0 : random.nextInt(waiting.size()));
        // The entry must not see an interrupt of the thread that happens to run it.
        boolean interrupted = Thread.interrupted();
        try {
            over.add(new BatchEvent(entry.cookie(), BatchStatus.COMPLETE, mover.applyAsLong(entry)));
        } catch (CuFileException e) {
            over.add(new BatchEvent(entry.cookie(), BatchStatus.FAILED, FakeOperation.code(e)));
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        return true;
    }

    synchronized void cancel() {
        waiting.forEach(entry -> over.add(new BatchEvent(entry.cookie(), BatchStatus.CANCELED, 0)));
        waiting.clear();
        notifyAll();
    }

    synchronized void destroy() {
        destroyed = true;
        waiting.clear();
        notifyAll();
    }
}
