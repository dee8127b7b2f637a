package io.gds4j.compat.work;

import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.deliver.Transfer;
import io.gds4j.compat.plan.Parallelism;
import io.gds4j.engine.memory.LongWait;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Uninterruptibly;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The worker threads of a session. The pool assigns an offered transfer to particular sleeping workers. They wake each other as a
 * tree, because waking eleven threads one after the other takes longer than many requests. A worker without work looks for another
 * offer, then sleeps.
 */
final class WorkerPool {
    private static final int NONE = -1;

    /** Number of methods of a worker that the log names: enough to tell a wait for a slab from one for a disk. */
    private static final int FRAMES = 8;

    /** A monitor, because a thread that waits for a lock of java.util.concurrent allocates a node. */
    private final Object lock = new Object();

    private final List<Offer> active = new ArrayList<>();
    private final Deque<Worker> idle = new ArrayDeque<>();
    private final List<Worker> workers = new ArrayList<>();

    /** Number of offers that want workers and have had none: transfers with several workers should give one up. */
    private volatile int starving;

    /** Number of offers of transfers that more threads may join. */
    private volatile int joinableOnOffer;

    /** Number of requests at work that are worth several threads, on offer or not. */
    private final AtomicInteger atWork = new AtomicInteger();

    /** Bytes of these requests. */
    private final AtomicLong bytesAtWork = new AtomicLong();

    private volatile boolean stopping;

    private final IntConsumer moveNear;

    /** The GPU that the workers feed. */
    private volatile int gpu = NONE;

    /** What idle workers do to prepare for requests. */
    private volatile @Nullable Runnable preparation;

    /** Number of workers that prepare now. */
    private final AtomicInteger preparing = new AtomicInteger();

    /**
     * Starts the workers.
     *
     * @param makeContext makes a worker's context, on its thread
     * @param moveNear has the calling thread run near a GPU
     */
    WorkerPool(Parallelism parallelism, Supplier<ThreadContext> makeContext, IntConsumer moveNear) {
        this(parallelism, makeContext, moveNear, Thread.ofPlatform().daemon().name("gds4j-io-", 0).factory());
    }

    WorkerPool(
            Parallelism parallelism,
            Supplier<ThreadContext> makeContext,
            IntConsumer moveNear,
            ThreadFactory factory) {
        this.moveNear = moveNear;
        for (int i = 0; i < parallelism.workers(); i++) {
            workers.add(new Worker(factory, makeContext));
        }
        boolean started = false;
        try {
            workers.forEach(worker -> worker.thread.start());
            started = true;
        } finally {
            if (!started) {
                // Without this, the workers that have started would live as long as the process.
                close();
            }
        }
    }

    /** Has each worker move near this GPU before its next transfer. */
    void stayNear(int device) {
        gpu = device;
    }

    /** Has idle workers prepare for requests: each runs the work once. Returns at once. */
    void prepare(Runnable work) {
        synchronized (lock) {
            preparation = work;
            idle.forEach(WorkerPool::wake);
        }
    }

    /** Returns whether workers prepare, which calls the CUDA driver. */
    boolean isPreparing() {
        return preparing.get() > 0;
    }

    /** Returns the number of requests at work that are worth several threads. */
    AtomicInteger atWork() {
        return atWork;
    }

    /** Returns the number of bytes of these requests. */
    AtomicLong bytesAtWork() {
        return bytesAtWork;
    }

    /** Returns the thread of one worker. */
    Thread anyThread() {
        return workers.getFirst().thread;
    }

    /**
     * Lets workers join a transfer until {@link #withdraw}, which the same thread calls.
     *
     * @param threads largest number of threads of the transfer, including the caller
     */
    void offer(Offer offer, Transfer transfer, int threads) {
        offer.begin(transfer, threads);
        List<Worker> helpers = offer.helpers;
        Worker first;
        Worker second;
        synchronized (lock) {
            if (stopping) {
                return;
            }
            active.add(offer);
            if (transfer.plan().isJoinable()) {
                joinableOnOffer = joinableOnOffer + 1;
            }
            int share = Math.ceilDiv(workers.size(), active.size());
            long wanted = Math.min(transfer.pieces(), threads) - 1;
            for (long i = Math.min(wanted, Math.min(share, idle.size())); i > 0; i--) {
                helpers.add(idle.pop());
            }
            for (int i = 0; i < helpers.size(); i++) {
                helpers.get(i).assign(offer, at(helpers, 2 * i + 2), at(helpers, 2 * i + 3));
            }
            if (helpers.isEmpty() && wanted > 0) {
                offer.starving = true;
                starving = starving + 1;
            }
            first = at(helpers, 0);
            second = at(helpers, 1);
        }
        wake(first);
        wake(second);
    }

    /**
     * Gives long transfers more threads, after other requests have ended.
     *
     * @param threads largest number of threads of each transfer, including its caller
     */
    void widen(int threads) {
        if (joinableOnOffer == 0) {
            return;
        }
        synchronized (lock) {
            for (int i = 0; i < active.size(); i++) {
                Offer offer = active.get(i);
                if (offer.transfer().plan().isJoinable() && offer.threads < threads) {
                    offer.threads = threads;
                    while (offer.wantsWorker() && !idle.isEmpty()) {
                        Worker worker = idle.pop();
                        offer.helpers.add(worker);
                        worker.assign(offer, null, null);
                        wake(worker);
                    }
                }
            }
        }
    }

    private static @Nullable Worker at(List<Worker> list, int index) {
        return index < list.size() ? list.get(index) : null;
    }

    private static void wake(@Nullable Worker worker) {
        if (worker != null) {
            LockSupport.unpark(worker.thread);
        }
    }

    /** Lets no more workers join, and waits for those at work. Does not wait for workers that have not begun. */
    void withdraw(Offer offer) {
        List<Worker> helpers = offer.helpers;
        synchronized (lock) {
            if (active.remove(offer) && offer.transfer().plan().isJoinable()) {
                joinableOnOffer = joinableOnOffer - 1;
            }
            feed(offer);
            for (int i = 0; i < helpers.size(); i++) {
                if (helpers.get(i).revoke(offer)) {
                    idle.push(helpers.get(i));
                }
            }
            helpers.clear();
        }
        offer.awaitWorkers(this);
        offer.end();
    }

    /** Returns the workers of an offer and what they do, for the log. */
    private String atWorkOn(Offer offer) {
        StringBuilder text = new StringBuilder("pieces of the same request are being moved by");
        for (Worker worker : workers) {
            if (worker.current == offer) {
                text.append(' ').append(worker.thread.getName());
                StackTraceElement[] stack = worker.thread.getStackTrace();
                for (int i = 0; i < Math.min(stack.length, FRAMES); i++) {
                    text.append(i == 0 ? " in " : " < ").append(stack[i].getMethodName());
                }
            }
        }
        return text.toString();
    }

    private void feed(Offer offer) {
        if (offer.starving) {
            offer.starving = false;
            starving = starving - 1;
        }
    }

    /**
     * Returns the offer with unclaimed pieces that has the fewest workers, so that all advance. If there is none, the worker is
     * idle.
     */
    private @Nullable Offer next(Worker worker) {
        synchronized (lock) {
            Offer best = null;
            for (int i = 0; i < active.size(); i++) {
                Offer offer = active.get(i);
                if (offer.wantsWorker() && (best == null || offer.joined.get() < best.joined.get())) {
                    best = offer;
                }
            }
            if (best == null) {
                idle.push(worker);
            } else {
                feed(best);
                best.enter();
            }
            return best;
        }
    }

    /** Refuses new transfers, and ends those at work after their pieces in flight. */
    void cancelAll() {
        stop();
        synchronized (lock) {
            active.forEach(offer -> offer.transfer().cancel());
        }
    }

    private void stop() {
        synchronized (lock) {
            stopping = true;
        }
        workers.forEach(WorkerPool::wake);
    }

    /** Ends the workers; no transfer may be at work. */
    void close() {
        stop();
        workers.forEach(worker -> Uninterruptibly.join(worker.thread));
    }

    /** A transfer that workers may join. The thread that waits for the transfer reuses its offer for the next transfer. */
    static final class Offer {
        /** Number of workers that were assigned or have joined. */
        private final AtomicInteger joined = new AtomicInteger();

        /** Workers that the pool has assigned. Guarded by the pool's lock. */
        private final List<Worker> helpers = new ArrayList<>();

        private @Nullable Transfer transfer;
        private @Nullable Thread owner;

        /** Largest number of threads, including the owner. Guarded by the pool's lock. */
        private int threads;

        /** True while the offer wants workers and has had none. Guarded by the pool's lock. */
        private boolean starving;

        private void begin(Transfer offered, int most) {
            transfer = offered;
            threads = most;
            owner = Thread.currentThread();
        }

        private void end() {
            transfer = null;
            owner = null;
        }

        private Transfer transfer() {
            Transfer offered = transfer;
            if (offered == null) {
                throw new IllegalStateException("nothing is on offer");
            }
            return offered;
        }

        /** Returns whether one more worker may join and has something to do. */
        private boolean wantsWorker() {
            return transfer().hasUnclaimed() && joined.get() < threads - 1;
        }

        /** Counts a worker in. The caller holds the pool's lock, and the transfer is on offer. */
        private void enter() {
            joined.incrementAndGet();
        }

        private void exit() {
            Thread waiting = owner;
            if (joined.decrementAndGet() == 0) {
                LockSupport.unpark(waiting);
            }
        }

        /** Waits for the workers at work, after no more may join. */
        private void awaitWorkers(WorkerPool pool) {
            boolean wasInterrupted = false;
            boolean logged = false;
            long begun = joined.get() > 0 ? System.nanoTime() : 0;
            while (joined.get() > 0) {
                LockSupport.parkNanos(this, logged ? Long.MAX_VALUE : LongWait.NANOS);
                wasInterrupted |= Thread.interrupted();
                if (!logged && System.nanoTime() - begun >= LongWait.NANOS) {
                    logged = true;
                    LongWait.log(pool.atWorkOn(this));
                }
            }
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** A thread that is idle, or has an assigned offer that it may not have noticed yet, or is at work. */
    final class Worker {
        private final Thread thread;
        private final AtomicReference<@Nullable Offer> assigned = new AtomicReference<>();

        /** The workers that this one wakes. */
        private volatile @Nullable Worker left;

        private volatile @Nullable Worker right;

        /** The offer that this thread works on. Used by this thread only. */
        private @Nullable Offer current;

        /** The GPU that this thread has moved near. */
        private int nearGpu = NONE;

        /** The preparation that this thread has run. */
        private @Nullable Runnable prepared;

        private Worker(ThreadFactory factory, Supplier<ThreadContext> makeContext) {
            this.thread = factory.newThread(() -> {
                ThreadContext context = makeContext.get();
                context.leaveWhen(this::isNeededElsewhere);
                serve(context);
            });
        }

        /** Returns whether another transfer has no worker while this one has several. */
        private boolean isNeededElsewhere() {
            Offer offer = current;
            return starving > 0 && offer != null && offer.joined.get() > 1;
        }

        private void assign(Offer offer, @Nullable Worker first, @Nullable Worker second) {
            left = first;
            right = second;
            offer.enter();
            assigned.set(offer);
        }

        /** Takes back an offer that the worker has not noticed yet. */
        private boolean revoke(Offer offer) {
            if (assigned.compareAndSet(offer, null)) {
                offer.exit();
                return true;
            }
            return false;
        }

        private void serve(ThreadContext context) {
            try {
                while (!stopping) {
                    Offer offer = next(this);
                    while (offer == null && !stopping) {
                        prepare();
                        if (isIdle()) {
                            LockSupport.park(WorkerPool.this);
                        }
                        offer = assigned.getAndSet(null);
                        if (offer != null) {
                            wake(left);
                            wake(right);
                        }
                    }
                    while (offer != null) {
                        work(offer, context);
                        offer = assigned.getAndSet(null);
                    }
                }
            } finally {
                Offer unnoticed = assigned.getAndSet(null);
                if (unnoticed != null) {
                    unnoticed.exit();
                }
            }
        }

        /** Returns whether nothing has happened during a preparation, whose locks may have swallowed a wake-up. */
        private boolean isIdle() {
            return assigned.get() == null && !stopping && preparation == prepared;
        }

        private void prepare() {
            Runnable work = preparation;
            if (work != null && work != prepared) {
                prepared = work;
                preparing.incrementAndGet();
                try {
                    if (!stopping) {
                        moveNearGpu();
                        work.run();
                    }
                } catch (CuFileException | OutOfMemoryError e) {
                    // The request that needs this meets the same failure and reports it.
                } finally {
                    preparing.decrementAndGet();
                }
            }
        }

        private void moveNearGpu() {
            if (nearGpu != gpu) {
                nearGpu = gpu;
                moveNear.accept(nearGpu);
            }
        }

        private void work(Offer offer, ThreadContext context) {
            current = offer;
            try {
                moveNearGpu();
                offer.transfer().run(context);
            } finally {
                current = null;
                offer.exit();
            }
        }
    }
}
