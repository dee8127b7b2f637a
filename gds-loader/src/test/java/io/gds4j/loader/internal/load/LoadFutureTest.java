package io.gds4j.loader.internal.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who waits for what: a cancelled load has freed everything when the cancel returns, and no cancel waits for the program's own actions. */
@Timeout(value = 10, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LoadFutureTest {
    /** A result whose close takes until the canceller waits for it behind the end of its future. */
    private static final class Tensors implements AutoCloseable {
        private final Thread canceller = Thread.currentThread();
        private final AtomicReference<LoadFuture<Tensors>> future = new AtomicReference<>();
        private volatile boolean closed;

        @Override
        public void close() {
            until(() -> future.get() != null && future.get().isDone() && isWaiting(canceller));
            closed = true;
        }
    }

    private static boolean isWaiting(Thread thread) {
        return thread.getState() == Thread.State.WAITING || !thread.isAlive();
    }

    private static void until(BooleanSupplier done) {
        while (!done.getAsBoolean()) {
            Thread.onSpinWait();
        }
    }

    /** A load that a test carries out. */
    private static final class Load implements LoadFuture.Job<Tensors> {
        private final Supplier<Tensors> work;
        private final CountDownLatch cancelled = new CountDownLatch(1);
        private final CountDownLatch began = new CountDownLatch(1);
        private volatile Thread thread;

        Load(Supplier<Tensors> work) {
            this.work = work;
        }

        @Override
        public Tensors run() {
            thread = Thread.currentThread();
            began.countDown();
            return work.get();
        }

        @Override
        public void cancel() {
            cancelled.countDown();
        }

        @Override
        public boolean isOwnThread() {
            return Thread.currentThread() == thread;
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Starts a load that goes on when it is cancelled. */
    private static LoadFuture<Tensors> startUntilCancelled(Supplier<Tensors> then) {
        AtomicReference<Load> load = new AtomicReference<>();
        load.set(new Load(() -> {
            await(load.get().cancelled);
            return then.get();
        }));
        LoadFuture<Tensors> future = LoadFuture.start(load.get());
        await(load.get().began);
        return future;
    }

    @Test
    void resultReachesTheProgramOpen() throws Exception {
        Tensors tensors = new Tensors();
        Load load = new Load(() -> tensors);
        LoadFuture<Tensors> future = LoadFuture.start(load);
        assertThat(future.get(5, TimeUnit.SECONDS)).isSameAs(tensors);
        load.thread.join();
        assertThat(future.cancel(true)).isFalse();
        assertThat(tensors.closed).isFalse();
        assertThat(future.get()).isSameAs(tensors);
    }

    @Test
    void cancelledLoadHasEndedWhenTheCancelReturns() {
        AtomicReference<LoadFuture<Tensors>> known = new AtomicReference<>();
        AtomicReference<String> found = new AtomicReference<>();
        Thread canceller = Thread.currentThread();
        LoadFuture<Tensors> future = startUntilCancelled(() -> {
            until(() -> isWaiting(canceller));
            found.set(known.get().isDone() ? "done too early" : "freed");
            throw new IllegalStateException("cancelled");
        });
        known.set(future);
        assertThat(future.cancel(true)).isTrue();
        assertThat(found).hasValue("freed");
        assertThat(future).isCancelled();
    }

    @Test
    void resultThatComesTooLateIsClosedBeforeTheCancelReturns() {
        Tensors tensors = new Tensors();
        LoadFuture<Tensors> future = startUntilCancelled(() -> tensors);
        tensors.future.set(future);
        assertThat(future.cancel(true)).isTrue();
        assertThat(tensors.closed).isTrue();
    }

    @Test
    void resultOfAFutureThatTheProgramCompletedIsClosed() {
        Tensors tensors = new Tensors();
        Tensors other = new Tensors();
        CountDownLatch completed = new CountDownLatch(1);
        LoadFuture<Tensors> future = LoadFuture.start(new Load(() -> {
            await(completed);
            return tensors;
        }));
        tensors.future.set(future);
        future.complete(other);
        completed.countDown();
        assertThat(future.cancel(true)).isFalse();
        assertThat(tensors.closed).isTrue();
        assertThat(other.closed).isFalse();
    }

    @Test
    void cancelWaitsForNoActionOfTheProgram() throws InterruptedException {
        for (boolean fails : new boolean[]{true, false}) {
            CountDownLatch registered = new CountDownLatch(1);
            CountDownLatch acting = new CountDownLatch(1);
            CountDownLatch returned = new CountDownLatch(1);
            Load load = new Load(() -> {
                await(registered);
                if (fails) {
                    throw new IllegalStateException("a bad sector");
                }
                return new Tensors();
            });
            LoadFuture<Tensors> future = LoadFuture.start(load);
            future.whenComplete((tensors, failure) -> {
                acting.countDown();
                await(returned);
            });
            registered.countDown();
            acting.await();
            assertThat(future.cancel(true)).isFalse();
            returned.countDown();
            load.thread.join();
        }
    }

    @Test
    void loadMayCancelItself() {
        AtomicReference<LoadFuture<Tensors>> future = new AtomicReference<>();
        CountDownLatch known = new CountDownLatch(1);
        future.set(LoadFuture.start(new Load(() -> {
            await(known);
            assertThat(future.get().cancel(true)).isTrue();
            throw new IllegalStateException("cancelled");
        })));
        known.countDown();
        assertThatThrownBy(() -> future.get().get(5, TimeUnit.SECONDS))
                .isInstanceOf(CancellationException.class);
    }
}
