package io.gds4j.compat.transfer;

import io.gds4j.internal.lifetime.Uninterruptibly;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The worker threads of a session. A transfer on offer is given to particular sleeping workers. They wake each other as a tree,
 * because waking eleven threads one after the other takes longer than many a request. A worker without work looks for another
 * offer, then sleeps.
 */
final class WorkerPool {
    private static final int NONE = -1;

    /** A monitor: threads that wait for a lock of java.util.concurrent allocate the node in which they wait. */
    private final Object lock = new Object();

    private final List<Offer> active = new ArrayList<>();
    private final Deque<Worker> idle = new ArrayDeque<>();
    private final List<Worker> workers = new ArrayList<>();

    /** Offers that want workers and have had none: transfers with several workers should give one up. */
    private volatile int starving;

    private volatile int largeOnOffer;

    /** Requests worth several threads that are at work, on offer or not. */
    private final AtomicInteger atWork = new AtomicInteger();

    private volatile boolean stopping;

    private final IntConsumer moveNear;

    /** The GPU that the workers feed. */
    private volatile int gpu = NONE;

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

    /** Before they work on their next transfer the workers move near this GPU. */
    void stayNear(int device) {
        gpu = device;
    }

    /** Requests worth several threads that have begun and are not over. */
    AtomicInteger atWork() {
        return atWork;
    }

    /** Some worker's thread. */
    Thread anyThread() {
        return workers.getFirst().thread;
    }

    /**
     * Lets workers in until {@link #withdraw}. The calling thread is the one that waits for them.
     *
     * @param threads that the transfer may have, the caller included
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
            if (transfer.isLarge()) {
                largeOnOffer = largeOnOffer + 1;
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
     * Other requests have ended: large transfers may have more threads now.
     *
     * @param threads of each, its caller included
     */
    void widen(int threads) {
        if (largeOnOffer == 0) {
            return;
        }
        synchronized (lock) {
            for (int i = 0; i < active.size(); i++) {
                Offer offer = active.get(i);
                if (offer.mayWiden() && offer.threads < threads) {
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

    /** Lets no more workers in and waits for those at work; it does not wait for workers that have not begun. */
    void withdraw(Offer offer) {
        List<Worker> helpers = offer.helpers;
        synchronized (lock) {
            if (active.remove(offer) && offer.transfer().isLarge()) {
                largeOnOffer = largeOnOffer - 1;
            }
            feed(offer);
            for (int i = 0; i < helpers.size(); i++) {
                if (helpers.get(i).revoke(offer)) {
                    idle.push(helpers.get(i));
                }
            }
            helpers.clear();
        }
        offer.awaitRunners();
        offer.end();
    }

    private void feed(Offer offer) {
        if (offer.starving) {
            offer.starving = false;
            starving = starving - 1;
        }
    }

    /** The offer with pieces left that has the fewest workers, so that all advance. Without one, the worker is idle. */
    private @Nullable Offer next(Worker worker) {
        synchronized (lock) {
            Offer best = null;
            for (int i = 0; i < active.size(); i++) {
                Offer offer = active.get(i);
                if (offer.wantsWorker() && (best == null || offer.runners.get() < best.runners.get())) {
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

    /** No new transfers; those at work end after the pieces in flight. */
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

    /** A transfer that workers may join. The thread that waits for the transfer reuses its offer for the next one. */
    static final class Offer {
        private final AtomicInteger runners = new AtomicInteger();

        /** Workers that it was given to. Under the pool's lock. */
        private final List<Worker> helpers = new ArrayList<>();

        private @Nullable Transfer transfer;
        private @Nullable Thread owner;

        /** Threads that it may have, its owner included. Under the pool's lock. */
        private int threads;

        /** True while it wants workers and has had none. Under the pool's lock. */
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

        /** Some transfers gain nothing from more threads than they begin with, and short ones are over too soon. */
        private boolean mayWiden() {
            return transfer().isLarge() && !transfer().plan().keepsThreads();
        }

        /** True while one more worker has something to do and may come in. */
        private boolean wantsWorker() {
            return transfer().hasUnclaimed() && runners.get() < threads - 1;
        }

        /** Counts a worker in. Under the pool's lock, while the transfer is on offer. */
        private void enter() {
            runners.incrementAndGet();
        }

        private void exit() {
            Thread waiting = owner;
            if (runners.decrementAndGet() == 0) {
                LockSupport.unpark(waiting);
            }
        }

        /** Waits for the workers at work, once no more may come in. */
        private void awaitRunners() {
            boolean wasInterrupted = false;
            while (runners.get() > 0) {
                LockSupport.park(this);
                wasInterrupted |= Thread.interrupted();
            }
            if (wasInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** One thread: idle, or given an offer that it may not have noticed yet, or at work. */
    final class Worker {
        private final Thread thread;
        private final AtomicReference<@Nullable Offer> assigned = new AtomicReference<>();
        private volatile @Nullable Worker left;
        private volatile @Nullable Worker right;

        /** What this thread works on; used by this thread alone. */
        private @Nullable Offer current;

        /** Where this thread has moved to. */
        private int nearGpu = NONE;

        private Worker(ThreadFactory factory, Supplier<ThreadContext> makeContext) {
            this.thread = factory.newThread(() -> {
                ThreadContext context = makeContext.get();
                context.leaveWhen(this::isNeededElsewhere);
                serve(context);
            });
        }

        /** True if this worker is one of several here while another transfer has none. */
        private boolean isNeededElsewhere() {
            Offer mine = current;
            return starving > 0 && mine != null && mine.runners.get() > 1;
        }

        private void assign(Offer offer, @Nullable Worker first, @Nullable Worker second) {
            left = first;
            right = second;
            offer.enter();
            assigned.set(offer);
        }

        /** Takes an offer back that the worker has not noticed yet. */
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
                        LockSupport.park(WorkerPool.this);
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
                context.close();
            }
        }

        private void work(Offer offer, ThreadContext context) {
            current = offer;
            try {
                if (nearGpu != gpu) {
                    nearGpu = gpu;
                    moveNear.accept(nearGpu);
                }
                offer.transfer().run(context);
            } finally {
                current = null;
                offer.exit();
            }
        }
    }
}
