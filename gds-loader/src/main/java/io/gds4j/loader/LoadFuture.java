package io.gds4j.loader;

import io.gds4j.loader.internal.Workers;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/** The future of a load; cancelling it ends the load. */
final class LoadFuture extends CompletableFuture<LoadedTensors> {
    /** A load that runs once and can be ended from another thread. */
    interface Job {
        /** Loads, or frees everything and throws. */
        LoadedTensors run();

        /** Ends the load and returns at once. */
        void cancel();

        /** Returns true on threads that the load waits for. */
        boolean isOwnThread();
    }

    private final Job job;
    private final CountDownLatch ended = new CountDownLatch(1);

    private LoadFuture(Job job) {
        this.job = job;
    }

    /** Starts the load on a thread of its own. */
    static LoadFuture start(Job job) {
        LoadFuture future = new LoadFuture(job);
        Thread.ofPlatform().name("gds-load").daemon().start(future::work);
        return future;
    }

    private void work() {
        try {
            LoadedTensors tensors = job.run();
            if (!complete(tensors)) {
                tensors.close();
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
