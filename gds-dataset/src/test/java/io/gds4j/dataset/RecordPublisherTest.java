package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.Logged;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.Gate;
import io.gds4j.testkit.GdsExtension;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Subscribers and executors of every kind. The extension fails a test that leaves a batch open. */
@Timeout(60)
class RecordPublisherTest {
    private static final int RECORDS = 100;

    @RegisterExtension
    final GdsExtension gds = GdsExtension.create();

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.dataset").about("a subscriber failed");

    @TempDir
    Path folder;

    private Path file = Path.of("");

    @BeforeEach
    void makeRecords() throws IOException {
        file = TestRecords.write(folder.resolve("records"), 0, 0, RECORDS);
    }

    private RecordLoader open(int batch) {
        RecordSource source = RecordFiles.fixed(List.of(file), 0, TestRecords.LENGTH);
        return RecordLoader.builder(gds.driver(), source, batch).target(MemoryKind.HOST, 0).readers(2).memory(1 << 20)
                .open();
    }

    private static List<Long> upTo(long end) {
        return LongStream.range(0, end).boxed().toList();
    }

    /** Asks for some batches at first, and for one more with each. */
    private class Consumer implements Flow.Subscriber<RecordBatch> {
        final List<Long> seen = new CopyOnWriteArrayList<>();
        final CompletableFuture<List<Long>> end = new CompletableFuture<>();
        final CompletableFuture<Flow.Subscription> subscription = new CompletableFuture<>();
        private final long first;

        Consumer(long first) {
            this.first = first;
        }

        @Override
        public void onSubscribe(Flow.Subscription given) {
            subscription.complete(given);
            given.request(first);
        }

        @Override
        public void onNext(RecordBatch batch) {
            seen.addAll(TestRecords.close(gds.driver(), batch));
            subscription.join().request(1);
        }

        @Override
        public void onError(Throwable failure) {
            end.completeExceptionally(failure);
        }

        @Override
        public void onComplete() {
            end.complete(seen);
        }
    }

    @Test
    void deliversAsManyAsAreAsked() {
        Consumer consumer = new Consumer(2);
        try (RecordLoader loader = open(9)) {
            loader.publisher(Runnable::run).subscribe(consumer);
            assertThat(consumer.end.join()).isEqualTo(upTo(RECORDS));
        }
    }

    /** A subscriber that was slower than the readers once ended in an overflow of the stack, and waited without end. */
    @Test
    void batchesThatAreReadyDoNotNest() {
        List<Integer> depths = new ArrayList<>();
        Consumer consumer = new Consumer(RECORDS) {
            @Override
            public void onNext(RecordBatch batch) {
                depths.add(Thread.currentThread().getStackTrace().length);
                super.onNext(batch);
            }
        };
        try (RecordLoader loader = open(1)) {
            while (gds.faults().count(Call.READ) < RECORDS) {
                Thread.onSpinWait();
            }
            loader.publisher(Runnable::run).subscribe(consumer);
            assertThat(consumer.end.join()).hasSize(RECORDS);
        }
        assertThat(depths).allMatch(depth -> depth < depths.getFirst() + 50);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void executorThatRefusesWorkIsAnError(int accepted) {
        AtomicInteger tasks = new AtomicInteger();
        Queue<Runnable> queue = new ConcurrentLinkedQueue<>();
        Consumer consumer = new Consumer(1) {
            @Override
            public void onNext(RecordBatch batch) {
                batch.close();
            }
        };
        try (RecordLoader loader = open(1)) {
            loader.publisher(task -> {
                if (tasks.incrementAndGet() > accepted) {
                    throw new RejectedExecutionException("full");
                }
                queue.add(task);
            }).subscribe(consumer);
            while (tasks.get() <= accepted) {
                Optional.ofNullable(queue.poll()).ifPresentOrElse(
                        Runnable::run, () -> consumer.subscription.join().request(1));
            }
            assertThatThrownBy(consumer.end::join).hasRootCauseInstanceOf(RejectedExecutionException.class);
        }
    }

    @Test
    void wrongRequestEndsTheSubscriptionAndTakesNoBatch() {
        Gate gate = gds.faults().on(Call.READ).file(file).times(Long.MAX_VALUE).holds();
        Consumer consumer = new Consumer(1);
        try (RecordLoader loader = open(50)) {
            loader.publisher(Runnable::run).subscribe(consumer);
            consumer.subscription.join().request(0);
            assertThatThrownBy(consumer.end::join).hasRootCauseInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("request is 0, allowed: 1 or more");
            gate.open();
            assertThat(TestRecords.close(gds.driver(), loader.next())).isEqualTo(upTo(50));
        }
    }

    @Test
    void cancelledSubscriptionTakesNoBatch() {
        Gate gate = gds.faults().on(Call.READ).file(file).times(Long.MAX_VALUE).holds();
        Consumer consumer = new Consumer(1);
        try (RecordLoader loader = open(50)) {
            loader.publisher(Runnable::run).subscribe(consumer);
            consumer.subscription.join().cancel();
            gate.open();
            assertThat(TestRecords.all(gds.driver(), loader)).isEqualTo(upTo(RECORDS));
        }
        assertThat(consumer.seen).isEmpty();
    }

    @Test
    void subscriberThatFailsGetsNothingMore() {
        Consumer consumer = new Consumer(5) {
            @Override
            public void onNext(RecordBatch batch) {
                super.onNext(batch);
                throw new IllegalStateException("a bug");
            }
        };
        try (RecordLoader loader = open(9)) {
            loader.publisher(Runnable::run).subscribe(consumer);
            while (consumer.seen.isEmpty()) {
                Thread.onSpinWait();
            }
            assertThat(loader.position()).isEqualTo(9);
        }
        assertThat(consumer.seen).isEqualTo(upTo(9));
        assertThat(consumer.end).isNotDone();
        assertThat(logged.lines()).containsExactly("WARNING a subscriber failed");
    }

    @Test
    void subscriptionMayEndAtAnyMoment() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            for (int i = 0; i < 40; i++) {
                Consumer consumer = new Consumer(1 + random.nextInt(3));
                try (RecordLoader loader = open(1 + random.nextInt(9))) {
                    loader.publisher(random.nextBoolean() ? threads : Runnable::run).subscribe(consumer);
                    for (int spins = random.nextInt(3000); spins > 0; spins--) {
                        Thread.onSpinWait();
                    }
                    if (random.nextBoolean()) {
                        consumer.subscription.join().cancel();
                    }
                }
                List<Long> seen = List.copyOf(consumer.seen);
                assertThat(seen).as("seed %d", seed).isEqualTo(upTo(seen.size()));
            }
        }
    }
}
