package io.gds4j.compat;

import io.gds4j.internal.lifetime.Uninterruptibly;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Threads that run whole requests for which no caller waits. Each takes a handful of small ones at a time, so that waking a
 * thread pays; batches take turns. Started when they are first needed, as many as there is work for.
 */
final class RequestRunners {
    /** Enough requests in flight that a disk is busy, whatever the processors. */
    private static final int MOST = 16;

    /** Small requests that are in the page cache are over before more threads have woken, and those get into each other's way. */
    private static final int MOST_FOR_SMALL = 8;

    private static final int REQUESTS_PER_RUNNER = 4;
    private static final int MOST_AT_ONCE = 16;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final ArrayDeque<Submission> queue = new ArrayDeque<>();
    private final List<Thread> threads = new ArrayList<>();
    private final TransferEngine engine;
    private final int most;
    private final int perRunner;
    private int idle;
    private boolean stopping;

    RequestRunners(TransferEngine engine) {
        this(engine, MOST, REQUESTS_PER_RUNNER);
    }

    /** Of threads that have many reads at work at a time each. */
    static RequestRunners withRings(TransferEngine engine) {
        return new RequestRunners(engine, MOST, MOST_AT_ONCE);
    }

    /**
     * @param most threads
     * @param perRunner small requests for which one more thread pays
     */
    RequestRunners(TransferEngine engine, int most, int perRunner) {
        this.engine = engine;
        this.most = most;
        this.perRunner = perRunner;
    }

    /** Begins to run the entries of a submission. */
    void run(Submission submission) {
        int wanted = submission.isSmall()
                ? Math.min(mostForSmall(submission), Math.ceilDiv(submission.size(), perRunner))
                : Math.min(most, submission.size());
        List<Thread> fresh = new ArrayList<>();
        lock.lock();
        try {
            queue.add(submission);
            for (int i = 0; i < Math.min(wanted, idle); i++) {
                work.signal();
            }
            for (int i = idle; i < wanted && threads.size() < Math.max(most, wanted) && !stopping; i++) {
                Thread thread = Thread.ofPlatform()
                        .daemon()
                        .name("gds4j-batch-" + threads.size())
                        .unstarted(this::serve);
                threads.add(thread);
                fresh.add(thread);
            }
        } finally {
            lock.unlock();
        }
        fresh.forEach(Thread::start);
    }

    private void serve() {
        Lane lane = engine.borrowUnattendedLane();
        try {
            Submission submission = take();
            while (submission != null) {
                submission.runSome(lane, atOnce(submission));
                submission = take();
            }
        } finally {
            engine.giveBackUnattended(lane);
        }
    }

    /** So many that every thread has some, but no fewer than pay for a thread. */
    private int atOnce(Submission submission) {
        int share = Math.ceilDiv(submission.size(), mostForSmall(submission));
        return Math.clamp(share, perRunner, Math.max(perRunner, MOST_AT_ONCE));
    }

    private int mostForSmall(Submission submission) {
        // Reads anywhere on a disk sleep most of the time: a drive serves many side by side.
        return submission.isSpread() ? 2 * most : Math.min(most, MOST_FOR_SMALL);
    }

    /** The submission whose turn it is. */
    private @Nullable Submission take() {
        lock.lock();
        try {
            while (true) {
                Submission submission = queue.poll();
                if (submission != null && submission.hasUnclaimed()) {
                    queue.add(submission);
                    return submission;
                }
                if (submission == null) {
                    if (stopping) {
                        return null;
                    }
                    idle++;
                    work.awaitUninterruptibly();
                    idle--;
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Ends the threads; nothing may be queued any more. */
    void close() {
        lock.lock();
        try {
            stopping = true;
            work.signalAll();
        } finally {
            lock.unlock();
        }
        threads.forEach(Uninterruptibly::join);
    }
}
