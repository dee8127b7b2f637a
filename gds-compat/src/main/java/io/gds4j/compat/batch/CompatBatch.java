package io.gds4j.compat.batch;

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
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A batch: the number of entries at work, and the events that the program has not taken. An entry occupies a place from its
 * submission until its event is taken. Thread-safe.
 */
final class CompatBatch implements BackendBatch {
    private static final String SUBMIT = "cuFileBatchIOSubmit";
    private static final String STATUS = "cuFileBatchIOGetStatus";

    private final int capacity;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    /** Events that the program has not taken. Has room for every entry, so that adding one allocates nothing. */
    private final Deque<BatchEvent> done;

    /** Entries whose thread failed. {@link #take} makes their events, because the failure may be an exhausted heap. */
    private final Deque<BatchRequest> failed;

    private final List<Submission> submissions = new ArrayList<>();

    /** Number of entries that are not done. */
    private int atWork;
    private boolean destroyed;

    /** Number of times that the entries so far were cancelled. */
    private volatile long cancels;

    /** Smallest {@code minimum} among all waiters. */
    private int wanted = Integer.MAX_VALUE;

    CompatBatch(int capacity) {
        this.capacity = capacity;
        this.done = new ArrayDeque<>(capacity);
        this.failed = new ArrayDeque<>(capacity);
    }

    @Override
    public int capacity() {
        return capacity;
    }

    /** Returns the number of entries that are not done. */
    int atWork() {
        lock.lock();
        try {
            return atWork;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Takes places for new entries.
     *
     * @param make makes the submission, after the check that there is room for it
     * @throws CuFileException INTERNAL_BATCH_SUBMIT_ERROR if too few are free
     */
    Submission enter(int count, Function<CompatBatch, Submission> make) {
        lock.lock();
        try {
            if (destroyed) {
                throw CuFileException.of(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, SUBMIT, "the batch is destroyed");
            }
            int taken = atWork + done.size() + failed.size();
            if (count > capacity - taken) {
                throw CuFileException.of(
                        CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                        SUBMIT,
                        "%s requests where %s of %s are outstanding".formatted(count, taken, capacity));
            }
            Submission submission = make.apply(this);
            submissions.removeIf(earlier -> !earlier.hasUnclaimed());
            submissions.add(submission);
            atWork += count;
            return submission;
        } finally {
            lock.unlock();
        }
    }

    /** Returns how many times the entries so far were cancelled. */
    long cancels() {
        return cancels;
    }

    /** Gives back the places of a submission that was never run. */
    void withdraw(Submission submission) {
        lock.lock();
        try {
            if (submissions.remove(submission)) {
                atWork -= submission.claimRest();
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Adds events of entries that are done. */
    void finish(List<BatchEvent> events) {
        lock.lock();
        try {
            add(events);
            signalIfEnough();
        } finally {
            lock.unlock();
        }
    }

    private void add(List<BatchEvent> events) {
        for (int i = 0; i < events.size(); i++) {
            done.add(events.get(i));
        }
        atWork -= events.size();
    }

    /** Ends entries {@code [from, to)} whose thread failed. Allocates nothing. */
    void fail(List<BatchRequest> entries, int from, int to) {
        lock.lock();
        try {
            for (int i = from; i < to; i++) {
                failed.add(entries.get(i));
            }
            atWork -= to - from;
            signalIfEnough();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns a submission that the waiting caller should serve itself: waking a thread takes longer than reading its cached entries.
     *
     * @param minimum number of events to wait for
     * @return null if there is none or there are enough events
     */
    @Nullable
    Submission unserved(int minimum) {
        lock.lock();
        try {
            for (int i = 0; done.size() + failed.size() < minimum && i < submissions.size(); i++) {
                Submission submission = submissions.get(i);
                if (submission.kind() == Submission.Kind.ADJACENT && submission.hasUnclaimed()) {
                    return submission;
                }
            }
            return null;
        } finally {
            lock.unlock();
        }
    }

    private void signalIfEnough() {
        if (atWork == 0 || done.size() + failed.size() >= wanted) {
            wanted = Integer.MAX_VALUE;
            changed.signalAll();
        }
    }

    /**
     * Waits for events and takes them.
     *
     * @param minimum number of events to wait for; the wait also ends when no entry is at work
     * @param timeout longest wait; without a limit if empty
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted while it waits; nothing is lost
     */
    List<BatchEvent> take(int minimum, int maximum, Optional<Duration> timeout) {
        lock.lock();
        try {
            if (destroyed) {
                throw CuFileException.of(
                        CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR, STATUS, "the batch is destroyed");
            }
            long left = timeout.map(CompatBatch::nanos).orElse(Long.MAX_VALUE);
            while (done.size() + failed.size() < minimum && atWork > 0 && left > 0) {
                wanted = Math.min(wanted, minimum);
                if (timeout.isEmpty()) {
                    changed.await();
                } else {
                    left = changed.awaitNanos(left);
                }
            }
            while (!failed.isEmpty()) {
                done.add(new BatchEvent(failed.element().cookie(), BatchStatus.FAILED, -Errno.EIO));
                failed.remove();
            }
            List<BatchEvent> taken = new ArrayList<>(Math.min(maximum, done.size()));
            while (taken.size() < maximum && !done.isEmpty()) {
                taken.add(done.poll());
            }
            return taken;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CuFileException.builder(STATUS)
                    .error(CuFileError.IO_ERROR)
                    .detail("interrupted")
                    .buildInterrupted();
        } finally {
            lock.unlock();
        }
    }

    private static long nanos(Duration timeout) {
        try {
            return timeout.toNanos();
        } catch (ArithmeticException e) {
            return Long.MAX_VALUE;
        }
    }

    /** Cancels the entries that have not begun. A thread that has claimed some of them finds out by {@link #cancels}. */
    void cancel() {
        lock.lock();
        try {
            for (Submission submission : submissions) {
                add(submission.cancel());
            }
            submissions.clear();
            cancels++;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Cancels the entries that have not begun, waits for the others, and drops all events. */
    void destroy() {
        lock.lock();
        try {
            destroyed = true;
            cancel();
            while (atWork > 0) {
                changed.awaitUninterruptibly();
            }
            done.clear();
            failed.clear();
        } finally {
            lock.unlock();
        }
    }
}
