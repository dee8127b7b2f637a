package io.gds4j;

import java.lang.Thread.State;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** Threads of a test; {@link #close} waits until all have ended. */
public final class Threads implements AutoCloseable {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final List<Thread> threads = new CopyOnWriteArrayList<>();

    /** Runs a task on a new thread. */
    public <T> Future<T> start(Callable<T> task) {
        FutureTask<T> future = new FutureTask<>(task);
        threads.add(Thread.ofPlatform().daemon().start(future));
        return future;
    }

    /** Runs a task without a result on a new thread. */
    public Future<Void> run(Runnable task) {
        return start(() -> {
            task.run();
            return null;
        });
    }

    /** Waits until the last started thread waits for something. */
    public void awaitParked() {
        Thread last = threads.getLast();
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (last.getState() != State.WAITING && last.getState() != State.TIMED_WAITING) {
            if (!last.isAlive() || System.nanoTime() > deadline) {
                throw new AssertionError("the thread does not wait: " + last.getState());
            }
            Thread.onSpinWait();
        }
    }

    /** Interrupts the last started thread. */
    public void interrupt() {
        threads.getLast().interrupt();
    }

    @Override
    public void close() {
        for (Thread thread : threads) {
            try {
                if (!thread.join(Duration.ofNanos(PATIENCE_NANOS))) {
                    throw new AssertionError("still running: " + List.of(thread.getStackTrace()));
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError(e);
            }
        }
    }
}
