package io.gds4j.dataset;

import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Publishes the batches of a loader to one subscriber, as many as it asks for. */
final class BatchPublisher implements Flow.Publisher<RecordBatch> {
    private final BatchRing ring;
    private final Executor executor;
    private final AtomicBoolean subscribed = new AtomicBoolean();

    BatchPublisher(BatchRing ring, Executor executor) {
        this.ring = ring;
        this.executor = executor;
    }

    @Override
    public void subscribe(Flow.Subscriber<? super RecordBatch> subscriber) {
        Objects.requireNonNull(subscriber, "subscriber");
        if (subscribed.compareAndSet(false, true)) {
            Delivery delivery = new Delivery(ring, executor, subscriber);
            subscriber.onSubscribe(delivery);
            delivery.begin();
            return;
        }
        subscriber.onSubscribe(new Flow.Subscription() {
            @Override
            public void request(long count) {
                // the subscription has failed
            }

            @Override
            public void cancel() {
                // the subscription has failed
            }
        });
        subscriber.onError(new IllegalStateException("the publisher of a loader has one subscriber"));
    }

    /** Calls the subscriber one signal at a time, on the executor. */
    private static final class Delivery implements Flow.Subscription {
        private final BatchRing ring;
        private final Executor executor;
        private final Flow.Subscriber<? super RecordBatch> subscriber;
        private long demand;
        private boolean begun;
        private boolean busy;
        private boolean ended;
        private @Nullable CompletableFuture<RecordBatch> taker;

        Delivery(BatchRing ring, Executor executor, Flow.Subscriber<? super RecordBatch> subscriber) {
            this.ring = ring;
            this.executor = executor;
            this.subscriber = subscriber;
        }

        void begin() {
            synchronized (this) {
                begun = true;
            }
            goOn();
        }

        @Override
        public void request(long count) {
            if (count < 1) {
                fail(new IllegalArgumentException("request is %d, allowed: 1 or more".formatted(count)));
                return;
            }
            synchronized (this) {
                demand = demand + count < 0 ? Long.MAX_VALUE : demand + count;
            }
            goOn();
        }

        @Override
        public void cancel() {
            CompletableFuture<RecordBatch> pending;
            synchronized (this) {
                ended = true;
                pending = taker;
            }
            if (pending != null) {
                pending.cancel(false);
            }
        }

        /** Takes the next batch if the subscriber wants one, and completes at the end of the data. */
        private void goOn() {
            synchronized (this) {
                if (!begun || busy || ended || demand == 0 && ring.hasNext()) {
                    return;
                }
                busy = true;
            }
            CompletableFuture<RecordBatch> next = ring.take();
            boolean cancelled;
            synchronized (this) {
                taker = next;
                cancelled = ended;
            }
            if (cancelled) {
                next.cancel(false);
            }
            next.whenCompleteAsync(this::signal, executor);
        }

        private void signal(@Nullable RecordBatch batch, @Nullable Throwable failure) {
            boolean over;
            synchronized (this) {
                taker = null;
                over = ended;
            }
            if (over) {
                if (batch != null) {
                    batch.close();
                }
                return;
            }
            if (batch == null) {
                Throwable reason = failure instanceof CompletionException e && e.getCause() != null
                        ? e.getCause()
                        : Objects.requireNonNull(failure);
                fail(reason);
                return;
            }
            try {
                subscriber.onNext(batch);
            } catch (RuntimeException | Error e) {
                // The subscriber broke its contract. It gets no further signal.
                cancel();
                throw e;
            }
            synchronized (this) {
                busy = false;
                demand = demand == Long.MAX_VALUE ? demand : demand - 1;
            }
            goOn();
        }

        private void fail(Throwable reason) {
            synchronized (this) {
                if (ended) {
                    return;
                }
                ended = true;
            }
            if (reason instanceof NoSuchElementException) {
                subscriber.onComplete();
            } else {
                subscriber.onError(reason);
            }
        }
    }
}
