package io.gds4j.loader.internal.load;

import io.gds4j.internal.lifetime.Undo;
import io.gds4j.loader.internal.Workers;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The future of a load; cancelling it ends the load.
 *
 * @param <T> what the load returns
 */
public final class LoadFuture<T extends AutoCloseable> extends CompletableFuture<T> {
    /** A load that runs once and can be ended from another thread. */
    interface Job<T extends AutoCloseable> {
        /** Loads, or frees everything and throws. */
        T run();

        /** Ends the load and returns at once. */
        void cancel();

        /** Returns true on threads that the load waits for. */
        boolean isOwnThread();
    }

    private final Job<T> job;
    private final UnaryOperator<T> success;
    private final Runnable failure;
    /** No thread of the load moves bytes any more. */
    private final CountDownLatch over = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean cancelling;
    private volatile @Nullable T loaded;

    private LoadFuture(Job<T> job, UnaryOperator<T> success, Runnable failure) {
        this.job = job;
        this.success = success;
        this.failure = failure;
    }

    /** Starts the load on a thread of its own. */
    public static <T extends AutoCloseable> LoadFuture<T> start(Job<T> job) {
        return start(job, UnaryOperator.identity(), () -> {});
    }

    /**
     * Starts the load on a thread of its own.
     *
     * @param success receives what was loaded, before the program does
     * @param failure runs if nothing was loaded, before the future is done
     */
    public static <T extends AutoCloseable> LoadFuture<T> start(Job<T> job, UnaryOperator<T> success,
            Runnable failure) {
        LoadFuture<T> future = new LoadFuture<>(job, success, failure);
        Thread.ofPlatform().name("gds-load").daemon().start(future::work);
        return future;
    }

    private void work() {
        try {
            T result = load();
            loaded = result;
            over.countDown();
            if (cancelling || !complete(result)) {
                result.close(); // the program does not receive it
            }
        } catch (Throwable e) {
            // first: completing runs dependent actions, for which a cancel does not wait
            over.countDown();
            ended.countDown();
            if (!cancelling) {
                completeExceptionally(e);
            }
        } finally {
            ended.countDown();
        }
    }

    private T load() {
        return success.apply(Undo.ifFails(failure::run, job::run));
    }

    /** Returns whether the program has received the tensors: the load has ended, and only dependent actions may still run. */
    private boolean isDelivered() {
        return loaded != null && isDone() && !isCompletedExceptionally() && resultNow() == loaded;
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        boolean own = job.isOwnThread();
        if (!own) {
            cancelling = true;
        }
        // needed even if the future was completed by other means: the load may still run
        job.cancel();
        if (!own) {
            // first: who waits for the future may use the destination again
            Workers.awaitUninterruptibly(over);
        }
        boolean cancelled = super.cancel(mayInterruptIfRunning);
        if (!isDelivered() && !own) {
            Workers.awaitUninterruptibly(ended);
        }
        return cancelled;
    }
}
