package io.gds4j.loader.save;

import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.loader.internal.Workers;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;

/** The future of a save; cancelling it ends the save. */
final class SaveFuture extends CompletableFuture<SaveReport> {
    private final SaveJob job;
    private final CountDownLatch released = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean cancelling;

    private SaveFuture(Function<Runnable, SaveJob> job) {
        this.job = job.apply(released::countDown);
    }

    /**
     * Starts a save on a thread of its own, which no program interrupts.
     *
     * @param job makes the job; receives what to call when the tensors may change
     */
    static SaveFuture start(Function<Runnable, SaveJob> job) {
        SaveFuture future = new SaveFuture(job);
        Thread.ofPlatform().name("gds-save").daemon().start(future::work);
        return future;
    }

    private void work() {
        SaveReport report;
        try {
            report = job.run();
        } catch (Throwable e) {
            end();
            // a save that cancel() has stopped may end before cancel() completes the future
            if (cancelling && job.isStopped()) {
                super.cancel(false);
            } else {
                completeExceptionally(e);
            }
            return;
        }
        end();
        complete(report);
    }

    /** Lets the threads go that wait for the save; before dependent actions run, for which they do not wait. */
    private void end() {
        released.countDown();
        ended.countDown();
    }

    void awaitReleased() {
        Workers.awaitUninterruptibly(released);
    }

    /** Waits for the report; an interrupt ends the save unless its checkpoint is complete. */
    SaveReport await() {
        try {
            ended.await();
        } catch (InterruptedException e) {
            job.cancel();
            Workers.awaitUninterruptibly(ended);
            Thread.currentThread().interrupt();
        }
        try {
            return Uninterruptibly.get(this);
        } catch (ExecutionException e) {
            throw SaveFuture.<RuntimeException>unchecked(e.getCause());
        }
    }

    /** Code of a program, such as a listener, may throw checked exceptions unchecked, as other JVM languages allow. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(Throwable failure) throws E {
        throw (E) failure;
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        cancelling = true;
        boolean cancelled = job.cancel();
        if (!job.isOwnThread()) {
            // first: who waits for the future may use the tensors and the folder again
            Workers.awaitUninterruptibly(ended);
        }
        return cancelled && super.cancel(mayInterruptIfRunning);
    }
}
