package io.gds4j.loader;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/** The future of a load; cancelling it ends the load. */
final class LoadFuture extends CompletableFuture<LoadedTensors> {
    private final LoadJob job;
    private final CountDownLatch ended = new CountDownLatch(1);

    private LoadFuture(LoadJob job) {
        this.job = job;
    }

    static LoadFuture start(LoadJob job) {
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
        // also if somebody completed the future while the load went on
        job.cancel();
        if (!job.isOwnThread()) {
            Workers.awaitUninterruptibly(ended);
        }
        return cancelled;
    }
}
