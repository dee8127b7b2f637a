package io.gds4j.dataset;

import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
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

    /**
     * Calls the subscriber in rounds on the executor. Every event wants a round; rounds follow each other and never nest, so that an
     * executor may run its tasks at once.
     */
    private static final class Delivery implements Flow.Subscription {
        private final BatchRing ring;
        private final Executor executor;
        private final Flow.Subscriber<? super RecordBatch> subscriber;
        /** Events since the last round began. The first is the end of {@code onSubscribe}. */
        private final AtomicInteger events = new AtomicInteger(1);
        private final AtomicLong demand = new AtomicLong();
        private volatile @Nullable Throwable refusal;
        private volatile boolean ended;
        /** The batch to come; only rounds change it. */
        private volatile @Nullable BatchTaker taker;

        Delivery(BatchRing ring, Executor executor, Flow.Subscriber<? super RecordBatch> subscriber) {
            this.ring = ring;
            this.executor = executor;
            this.subscriber = subscriber;
        }

        @Override
        public void request(long count) {
            if (count < 1) {
                refusal = new IllegalArgumentException("request is %s, allowed: 1 or more".formatted(count));
            } else {
                demand.accumulateAndGet(count, (a, b) -> a + b < 0 ? Long.MAX_VALUE : a + b);
            }
            wake();
        }

        @Override
        public void cancel() {
            ended = true;
            BatchTaker pending = taker;
            if (pending != null) {
                pending.cancel(false);
            }
        }

        private void wake() {
            if (events.getAndIncrement() == 0) {
                begin();
            }
        }

        void begin() {
            try {
                executor.execute(this::run);
            } catch (RuntimeException | Error e) {
                // Whatever the executor refused: the subscriber hears of it here.
                refusal = e;
                run();
            }
        }

        private void run() {
            for (int seen = events.get(); seen != 0; seen = events.addAndGet(-seen)) {
                try {
                    while (step()) {
                        // until an event is missing
                    }
                } catch (Throwable e) {
                    // The subscriber broke its contract. It gets no further signal.
                    cancel();
                    System.getLogger("io.gds4j.dataset").log(System.Logger.Level.WARNING, "a subscriber failed", e);
                }
            }
        }

        /** Takes a batch if the subscriber wants one, or gives it what came; false to wait for the next event. */
        private boolean step() {
            Throwable reason = refusal;
            if (reason != null && !ended) {
                cancel();
                subscriber.onError(reason);
            }
            BatchTaker next = taker;
            if (next == null) {
                // At the end of the data nothing is left to ask for.
                if (ended || demand.get() == 0 && ring.hasNext()) {
                    return false;
                }
                next = ring.take();
                taker = next;
                next.whenComplete((batch, failure) -> wake());
                if (ended) {
                    next.cancel(false);
                }
            }
            if (!next.isDone()) {
                return false;
            }
            taker = null;
            signal(next);
            return true;
        }

        private void signal(BatchTaker done) {
            boolean delivered = done.state() == Future.State.SUCCESS;
            if (ended) {
                if (delivered) {
                    done.resultNow().close();
                }
            } else if (delivered) {
                demand.updateAndGet(left -> left == Long.MAX_VALUE ? left : left - 1);
                subscriber.onNext(done.resultNow());
            } else {
                ended = true;
                Throwable reason = done.exceptionNow();
                if (reason instanceof NoSuchElementException) {
                    subscriber.onComplete();
                } else {
                    subscriber.onError(reason);
                }
            }
        }
    }
}
