package io.gds4j.compat.batch;

import io.gds4j.compat.work.RequestContext;
import io.gds4j.compat.work.TransferEngine;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.spi.BatchRequest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Threads that run the entries of batches. Each claims a share of a submission at a time ({@link Shares}); batches take turns. Who waits
 * for entries may help. A thread starts when there is work for it, and lives until {@link #close}.
 */
final class RequestRunners {
    private static final String SUBMIT = "cuFileBatchIOSubmit";

    /** Number of threads that keep a disk busy, whatever the number of processors. */
    private static final int MAX_THREADS = 16;

    /** Number of small entries for which one more thread pays. */
    private static final int REQUESTS_PER_RUNNER = 4;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final ArrayDeque<Submission> queue = new ArrayDeque<>();
    private final List<Thread> threads = new ArrayList<>();
    private final TransferEngine engine;
    private final Function<RequestContext, EntryRunner> makeRunner;
    private final ThreadFactory factory;
    private final int most;
    private final int perRunner;
    private final Deque<Helper> helpers = new ArrayDeque<>();
    private int idle;
    private boolean stopping;

    /** What a thread of the program serves a submission with. */
    private record Helper(RequestContext context, EntryRunner runner) {
    }

    RequestRunners(TransferEngine engine, Function<RequestContext, EntryRunner> makeRunner) {
        this(engine, makeRunner, REQUESTS_PER_RUNNER);
    }

    /** Creates threads that have many reads in flight each. */
    static RequestRunners withIoUring(TransferEngine engine, Function<RequestContext, EntryRunner> makeRunner) {
        return new RequestRunners(engine, makeRunner, Shares.MAX_SMALL);
    }

    private RequestRunners(TransferEngine engine, Function<RequestContext, EntryRunner> makeRunner, int perRunner) {
        this(engine, makeRunner, MAX_THREADS, perRunner,
                Thread.ofPlatform().daemon().name("gds4j-batch-", 0).factory());
    }

    /**
     * @param makeRunner makes the runner of a thread
     * @param most largest number of threads; twice as many serve scattered reads that wait for a disk
     * @param perRunner number of small entries for which one more thread pays
     * @param factory makes the threads
     */
    RequestRunners(
            TransferEngine engine,
            Function<RequestContext, EntryRunner> makeRunner,
            int most,
            int perRunner,
            ThreadFactory factory) {
        this.engine = engine;
        this.makeRunner = makeRunner;
        this.factory = factory;
        this.most = most;
        this.perRunner = perRunner;
    }

    /**
     * Queues a submission, and starts threads for it.
     *
     * @throws CuFileException INTERNAL_BATCH_SUBMIT_ERROR (EAGAIN) if there is no thread and none can be started; then no
     *         entry runs
     */
    void run(Submission submission) {
        Shares shares = shares(submission);
        int wanted = shares.threads();
        lock.lock();
        try {
            for (int i = idle; i < wanted && threads.size() < shares.threadsForAll() && !stopping; i++) {
                startThread();
            }
            queue.add(submission);
            for (int i = 0; i < Math.min(wanted, idle); i++) {
                work.signal();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Starts a thread. If the system refuses, the existing threads do the work. */
    private void startThread() {
        Thread thread = factory.newThread(this::serve);
        threads.add(thread);
        boolean started = false;
        try {
            thread.start();
            started = true;
        } catch (OutOfMemoryError e) {
            if (threads.size() == 1) {
                throw CuFileException.builder(SUBMIT)
                        .error(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR)
                        .errno(Errno.EAGAIN)
                        .detail("no thread can be started")
                        .cause(e)
                        .build();
            }
        } finally {
            if (!started) {
                threads.remove(thread);
            }
        }
    }

    private void serve() {
        try {
            RequestContext context = engine.borrowUnattended();
            try (EntryRunner runner = makeRunner.apply(context)) {
                Submission submission = take(runner);
                while (submission != null) {
                    submission.runSome(runner, shares(submission));
                    submission = take(runner);
                }
            } finally {
                engine.giveBackUnattended(context);
            }
        } finally {
            end();
        }
    }

    /** Forgets a thread that failed. If it was the only one, the queued submissions fail, because callers wait for them. */
    private void end() {
        lock.lock();
        try {
            if (!stopping) {
                threads.remove(Thread.currentThread());
            }
            while (threads.isEmpty() && !queue.isEmpty()) {
                queue.remove().fail();
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Claims some entries and runs them on the calling thread, which waits for them.
     *
     * @param quick tells what the thread may read
     * @return false if it may not read what it would claim
     */
    boolean help(Submission submission, Predicate<List<BatchRequest>> quick) {
        Helper helper = takeHelper();
        try {
            boolean claimed = submission.runSome(helper.runner(), shares(submission), quick);
            helper.runner().settle();
            return claimed;
        } finally {
            giveBack(helper);
        }
    }

    private Helper takeHelper() {
        Helper helper;
        lock.lock();
        try {
            helper = helpers.poll();
        } finally {
            lock.unlock();
        }
        if (helper == null) {
            RequestContext context = engine.borrowUnattended();
            helper = new Helper(context, makeRunner.apply(context));
        }
        return helper;
    }

    private void giveBack(Helper helper) {
        boolean closes;
        lock.lock();
        try {
            closes = stopping;
            if (!closes) {
                helpers.push(helper);
            }
        } finally {
            lock.unlock();
        }
        if (closes) {
            end(helper);
        }
    }

    private void end(Helper helper) {
        helper.runner().close();
        engine.giveBackUnattended(helper.context());
    }

    private Shares shares(Submission submission) {
        return Shares.of(submission, most, perRunner);
    }

    /** Returns the submission whose turn it is; null if the threads should end. Ends all claims before it waits. */
    private @Nullable Submission take(EntryRunner runner) {
        Submission submission = poll();
        if (submission == null) {
            runner.settle();
            submission = await();
        }
        return submission;
    }

    private @Nullable Submission poll() {
        lock.lock();
        try {
            Submission submission = queue.poll();
            while (submission != null && !submission.hasUnclaimed()) {
                submission = queue.poll();
            }
            if (submission != null) {
                queue.add(submission);
            }
            return submission;
        } finally {
            lock.unlock();
        }
    }

    private @Nullable Submission await() {
        lock.lock();
        try {
            Submission submission = poll();
            while (submission == null && !stopping) {
                idle++;
                work.awaitUninterruptibly();
                idle--;
                submission = poll();
            }
            return submission;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the threads; no submission may be queued. */
    void close() {
        lock.lock();
        try {
            stopping = true;
            work.signalAll();
        } finally {
            lock.unlock();
        }
        threads.forEach(Uninterruptibly::join);
        Helper helper = helpers.poll();
        while (helper != null) {
            end(helper);
            helper = helpers.poll();
        }
    }
}
