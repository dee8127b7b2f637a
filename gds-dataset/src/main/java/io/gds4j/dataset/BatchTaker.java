package io.gds4j.dataset;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * A consumer that waits for a batch. Either the ring claims it, and then the batch arrives, or the consumer gives up. A batch that has
 * left the ring can so never come back, behind a later one that another taker got.
 */
final class BatchTaker extends CompletableFuture<RecordBatch> {
    private final AtomicBoolean claimed = new AtomicBoolean();

    /** {@return true for the first caller, who alone may complete the future} */
    boolean claim() {
        return claimed.compareAndSet(false, true);
    }

    boolean isClaimed() {
        return claimed.get();
    }

    /** Completes a claimed future. */
    void deliver(RecordBatch batch) {
        super.complete(batch);
    }

    /** Fails a claimed future. */
    void fail(Throwable reason) {
        super.completeExceptionally(reason);
    }

    @Override
    public boolean complete(RecordBatch value) {
        return claim() && super.complete(value);
    }

    @Override
    public boolean completeExceptionally(Throwable reason) {
        return claim() && super.completeExceptionally(reason);
    }

    @Override
    public CompletableFuture<RecordBatch> completeAsync(Supplier<? extends RecordBatch> supplier, Executor executor) {
        return claim() ? super.completeAsync(supplier, executor) : this;
    }

    /** {@return true if the future is cancelled; false if its batch is there, or arrives at this moment} */
    @Override
    public boolean cancel(boolean mayInterrupt) {
        return claim() ? super.cancel(mayInterrupt) : isCancelled();
    }
}
