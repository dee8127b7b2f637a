package io.gds4j.compat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs requests: the calling thread takes pieces, and for requests of more than one piece the workers take them too. An idle
 * engine costs nothing.
 */
final class TransferEngine {
    private static final long KIB = 1024;
    private static final long MIN_PIECE_SIZE = 512 * KIB;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final List<Transfer> active = new ArrayList<>();
    private final LaneRack lanes;
    private final LaneRack handOffLanes;
    private final Supplier<Lane> workerLanes;
    private final List<Thread> workers = new ArrayList<>();
    private final ExecutorService platform =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().name("gds4j-call-", 0).factory());
    private final Parallelism parallelism;
    private boolean stopping;

    /**
     * Starts the workers.
     *
     * @param makeLane makes lanes; told whether their thread's interrupt ends a request
     */
    TransferEngine(Parallelism parallelism, Function<Boolean, Lane> makeLane) {
        this.lanes = new LaneRack(() -> makeLane.apply(true));
        this.handOffLanes = new LaneRack(() -> makeLane.apply(false));
        this.workerLanes = () -> makeLane.apply(false);
        this.parallelism = parallelism;
        for (int i = 0; i < parallelism.workers(); i++) {
            workers.add(Thread.ofPlatform().daemon().name("gds4j-io-" + i).unstarted(this::serve));
        }
        workers.forEach(Thread::start);
    }

    /**
     * How large the pieces of a request are: small enough that all threads get some, large enough that waking a thread for one
     * pays.
     *
     * @param largest what a slab holds, a power of two
     */
    long pieceSize(long size, long largest) {
        if (workers.isEmpty() || size < parallelism.minimumBytes()) {
            return largest;
        }
        long share = Long.highestOneBit(Math.max(1, size / (2L * (parallelism.perRequest()))));
        return Math.min(largest, Math.max(MIN_PIECE_SIZE, share));
    }

    /** A thread that works on requests beside their callers, for questions about confinement. */
    Thread helper() {
        return workers.isEmpty() ? Thread.currentThread() : workers.getFirst();
    }

    /** A lane for a request of the calling thread; to be given back. */
    Lane borrowLane() {
        return lanes.borrow();
    }

    void giveBack(Lane lane) {
        lanes.giveBack(lane);
    }

    /** Moves all pieces; {@link Transfer#result} then tells what came of it. */
    void execute(Transfer transfer, Lane lane) {
        if (transfer.usesGpu() && Thread.currentThread().isVirtual()) {
            executeElsewhere(transfer);
        } else {
            executeHere(transfer, lane);
        }
    }

    /** A virtual thread may move between carriers while it waits, and a CUDA context would stay with the carrier. */
    private void executeElsewhere(Transfer transfer) {
        CompletableFuture<@Nullable Void> done = CompletableFuture.runAsync(
                () -> {
                    Lane lane = handOffLanes.borrow();
                    try {
                        executeHere(transfer, lane);
                    } finally {
                        handOffLanes.giveBack(lane);
                    }
                },
                platform);
        boolean interrupted = false;
        while (true) {
            try {
                done.get();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
                transfer.cancel();
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void executeHere(Transfer transfer, Lane lane) {
        if (!parallelism.shares(transfer.pieces(), transfer.plan().size())) {
            transfer.run(lane);
            return;
        }
        transfer.ownByCurrentThread();
        if (lane.heedsInterrupts() && Thread.currentThread().isInterrupted()) {
            // The workers must not be done before the caller looks.
            transfer.cancel();
        }
        offer(transfer);
        try {
            transfer.run(lane);
        } finally {
            withdraw(transfer);
        }
    }

    private void offer(Transfer transfer) {
        lock.lock();
        try {
            if (!stopping) {
                active.add(transfer);
                long helpers = Math.min(transfer.pieces() - 1, workers.size());
                for (long i = 0; i < helpers; i++) {
                    work.signal();
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private void withdraw(Transfer transfer) {
        lock.lock();
        try {
            active.remove(transfer);
        } finally {
            lock.unlock();
        }
        transfer.awaitRunners();
    }

    private void serve() {
        Lane lane = workerLanes.get();
        try {
            Transfer transfer = take();
            while (transfer != null) {
                try {
                    transfer.run(lane);
                } finally {
                    transfer.exit();
                }
                transfer = take();
            }
        } finally {
            lane.close();
        }
    }

    /** Waits for a request that has pieces left and enters it: the one with the fewest threads, so that all advance. */
    private @Nullable Transfer take() {
        lock.lock();
        try {
            while (!stopping) {
                Transfer best = null;
                for (int i = 0; i < active.size(); i++) {
                    Transfer transfer = active.get(i);
                    boolean open = transfer.hasUnclaimed() && transfer.runners() < parallelism.perRequest() - 1;
                    if (open && (best == null || transfer.runners() < best.runners())) {
                        best = transfer;
                    }
                }
                if (best != null) {
                    best.enter();
                    return best;
                }
                work.awaitUninterruptibly();
            }
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the workers; no request may be at work. */
    void close() {
        stop();
        boolean interrupted = false;
        for (Thread worker : workers) {
            while (worker.isAlive()) {
                try {
                    worker.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        platform.shutdown();
        lanes.close();
        handOffLanes.close();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void stop() {
        lock.lock();
        try {
            stopping = true;
            work.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The JVM exits: no new requests, and those at work end after the pieces in flight. */
    void stopForExit() {
        stop();
        lock.lock();
        try {
            active.forEach(Transfer::cancel);
        } finally {
            lock.unlock();
        }
    }
}
