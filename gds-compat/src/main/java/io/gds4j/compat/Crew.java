package io.gds4j.compat;

import io.gds4j.internal.lifetime.Uninterruptibly;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The worker threads of a session. A request that is offered is given to sleeping workers by name; they wake each other as a
 * tree, because waking eleven threads one after the other takes longer than many a request. Who has nothing to do looks for
 * another request, then sleeps.
 */
final class Crew {
    private static final int NONE = -1;

    /** A monitor: threads that wait for a lock of java.util.concurrent allocate the node in which they wait. */
    private final Object lock = new Object();

    private final List<Transfer> active = new ArrayList<>();
    private final Deque<Worker> idle = new ArrayDeque<>();
    private final List<Worker> workers = new ArrayList<>();
    /** Requests on offer that want workers and on which none has begun: those with several should give one up. */
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
     * @param makeLane makes a worker's lane, on its thread
     * @param moveNear has the calling thread run near a GPU
     */
    Crew(Parallelism parallelism, Supplier<Lane> makeLane, IntConsumer moveNear) {
        this.moveNear = moveNear;
        for (int i = 0; i < parallelism.workers(); i++) {
            workers.add(new Worker(i, makeLane));
        }
        workers.forEach(worker -> worker.thread.start());
    }

    /** Before they work on their next request the workers move near this GPU. */
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

    /** True if a worker on a request that has several should leave it for one that has none. */
    boolean hasStarving() {
        return starving > 0;
    }

    /** Lets workers in, as many as the request may have threads beside its caller, until {@link #withdraw}. */
    void offer(Transfer transfer) {
        List<Worker> helpers = transfer.helpers();
        Worker first;
        Worker second;
        synchronized (lock) {
            if (stopping) {
                return;
            }
            active.add(transfer);
            if (transfer.isLarge()) {
                largeOnOffer = largeOnOffer + 1;
            }
            int share = Math.ceilDiv(workers.size(), active.size());
            long wanted = Math.min(transfer.pieces(), transfer.threads()) - 1;
            for (long i = Math.min(wanted, Math.min(share, idle.size())); i > 0; i--) {
                helpers.add(idle.pop());
            }
            for (int i = 0; i < helpers.size(); i++) {
                helpers.get(i).assign(transfer, at(helpers, 2 * i + 2), at(helpers, 2 * i + 3));
            }
            if (helpers.isEmpty() && wanted > 0) {
                transfer.setStarving(true);
                starving = starving + 1;
            }
            first = at(helpers, 0);
            second = at(helpers, 1);
        }
        wake(first);
        wake(second);
    }

    /**
     * Other requests have ended: long ones may have more threads now.
     *
     * @param threads so many each, their callers included
     */
    void widen(int threads) {
        if (largeOnOffer == 0) {
            return;
        }
        synchronized (lock) {
            for (int i = 0; i < active.size(); i++) {
                Transfer transfer = active.get(i);
                if (transfer.isLarge() && !transfer.plan().keepsThreads() && transfer.threads() < threads) {
                    transfer.setThreads(threads);
                    while (transfer.wantsWorker() && !idle.isEmpty()) {
                        Worker worker = idle.pop();
                        transfer.helpers().add(worker);
                        worker.assign(transfer, null, null);
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

    /** Lets nobody in any more and waits for those at work; workers that have not begun are not waited for. */
    void withdraw(Transfer transfer) {
        List<Worker> helpers = transfer.helpers();
        synchronized (lock) {
            if (active.remove(transfer) && transfer.isLarge()) {
                largeOnOffer = largeOnOffer - 1;
            }
            feed(transfer);
            for (int i = 0; i < helpers.size(); i++) {
                if (helpers.get(i).revoke(transfer)) {
                    idle.push(helpers.get(i));
                }
            }
            helpers.clear();
        }
        transfer.awaitRunners();
    }

    private void feed(Transfer transfer) {
        if (transfer.isStarving()) {
            transfer.setStarving(false);
            starving = starving - 1;
        }
    }

    /** A request with pieces left: the one with the fewest workers, so that all advance. Without one, the worker is idle. */
    private @Nullable Transfer next(Worker worker) {
        synchronized (lock) {
            Transfer best = null;
            for (int i = 0; i < active.size(); i++) {
                Transfer transfer = active.get(i);
                if (transfer.wantsWorker() && (best == null || transfer.runners() < best.runners())) {
                    best = transfer;
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

    /** No new requests; those at work end after the pieces in flight. */
    void cancelAll() {
        stop();
        synchronized (lock) {
            active.forEach(Transfer::cancel);
        }
    }

    private void stop() {
        synchronized (lock) {
            stopping = true;
        }
        workers.forEach(Crew::wake);
    }

    /** Ends the workers; no request may be at work. */
    void close() {
        stop();
        workers.forEach(worker -> Uninterruptibly.join(worker.thread));
    }

    /** One thread: sleeping in the list of the idle, or given a request that it may not have noticed yet, or at work. */
    final class Worker {
        private final Thread thread;
        private final AtomicReference<@Nullable Transfer> assigned = new AtomicReference<>();
        private volatile @Nullable Worker left;
        private volatile @Nullable Worker right;

        /** Where this thread has moved to. */
        private int nearGpu = NONE;

        private Worker(int number, Supplier<Lane> makeLane) {
            this.thread = Thread.ofPlatform()
                    .daemon()
                    .name("gds4j-io-" + number)
                    .unstarted(() -> {
                        Lane lane = makeLane.get();
                        lane.belongTo(Crew.this);
                        serve(lane);
                    });
        }

        private void assign(Transfer transfer, @Nullable Worker first, @Nullable Worker second) {
            left = first;
            right = second;
            transfer.enter();
            assigned.set(transfer);
        }

        /** Takes a request back that the worker has not noticed yet. */
        private boolean revoke(Transfer transfer) {
            if (assigned.compareAndSet(transfer, null)) {
                transfer.exit();
                return true;
            }
            return false;
        }

        private void serve(Lane lane) {
            try {
                while (!stopping) {
                    Transfer transfer = next(this);
                    while (transfer == null && !stopping) {
                        LockSupport.park(Crew.this);
                        transfer = assigned.getAndSet(null);
                        if (transfer != null) {
                            wake(left);
                            wake(right);
                        }
                    }
                    while (transfer != null) {
                        work(transfer, lane);
                        transfer = assigned.getAndSet(null);
                    }
                }
            } finally {
                Transfer unnoticed = assigned.getAndSet(null);
                if (unnoticed != null) {
                    unnoticed.exit();
                }
                lane.close();
            }
        }

        private void work(Transfer transfer, Lane lane) {
            try {
                if (nearGpu != gpu) {
                    nearGpu = gpu;
                    moveNear.accept(nearGpu);
                }
                transfer.run(lane);
            } finally {
                transfer.exit();
            }
        }
    }
}
