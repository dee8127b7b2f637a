package io.gds4j.loader;

import io.gds4j.loader.internal.Workers;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/**
 * The future of a load; cancelling it ends the load.
 *
 * @param <T> what the load returns
 */
final class LoadFuture<T> extends CompletableFuture<T> {
    /** A load that runs once and can be ended from another thread. */
    interface Job<T> {
        /** Loads, or frees everything and throws. */
        T run();

        /** Frees a result that the program does not receive. */
        void discard(T result);

        /** Ends the load and returns at once. */
        void cancel();

        /** Returns true on threads that the load waits for. */
        boolean isOwnThread();
    }

    private final Job<T> job;
    private final CountDownLatch ended = new CountDownLatch(1);

    private LoadFuture(Job<T> job) {
        this.job = job;
    }

    /** Starts the load on a thread of its own. */
    static <T> LoadFuture<T> start(Job<T> job) {
        LoadFuture<T> future = new LoadFuture<>(job);
        Thread.ofPlatform().name("gds-load").daemon().start(future::work);
        return future;
    }

    private void work() {
        try {
            T result = job.run();
            if (!complete(result)) {
                job.discard(result);
            }
        } catch (Throwable e) {
            completeExceptionally(e);
        } finally {
            ended.countDown();
        }
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        boolean cancelled = super.cancel(mayInterruptIfRunning);
        // needed even if the future was completed by other means: the load may still run
        job.cancel();
        if (!job.isOwnThread()) {
            Workers.awaitUninterruptibly(ended);
        }
        return cancelled;
    }
}
