package io.gds4j.loader.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The threads of the loader. */
@Timeout(60)
class WorkersTest {
    /** Threads of which only the first {@code limit} can start; {@code refused} runs before the first one that cannot. */
    private static ThreadFactory limited(int limit, Runnable refused) {
        AtomicInteger created = new AtomicInteger();
        return task -> {
            if (created.getAndIncrement() < limit) {
                return new Thread(task);
            }
            return new Thread(task) {
                @Override
                public void start() {
                    refused.run();
                    throw new OutOfMemoryError("unable to create native thread");
                }
            };
        };
    }

    @Test
    void everyItemIsDoneOnce() throws InterruptedException {
        AtomicInteger[] done = new AtomicInteger[100];
        for (int i = 0; i < done.length; i++) {
            done[i] = new AtomicInteger();
        }
        Workers workers = new Workers("test-", 4, done.length, () -> number -> done[number].incrementAndGet());
        assertThat(workers.run()).isTrue();
        assertThat(done).allSatisfy(count -> assertThat(count).hasValue(1));
    }

    @Test
    void firstFailureIsThrownAsItIs() throws InterruptedException {
        IOException failure = new IOException("a bad sector");
        Workers workers = new Workers("test-", 2, 10, () -> number -> {
            throw failure;
        });
        assertThat(workers.run()).isFalse();
        assertThatThrownBy(workers::<IOException>throwFailure).isSameAs(failure);
    }

    @Test
    void failedStartWaitsForTheThreadsThatRun() throws InterruptedException {
        CountDownLatch working = new CountDownLatch(1);
        AtomicBoolean ended = new AtomicBoolean();
        ThreadFactory one = limited(1, () -> Workers.awaitUninterruptibly(working));
        Workers workers = new Workers(one, 3, 10, () -> number -> {
            working.countDown();
            try {
                new CountDownLatch(1).await(); // until stop() interrupts it
            } finally {
                ended.set(true);
            }
        });
        assertThat(workers.run()).isFalse();
        assertThat(ended).as("the thread that was started has ended").isTrue();
        assertThatThrownBy(workers::<RuntimeException>throwFailure).isInstanceOf(OutOfMemoryError.class);
    }

    @Test
    void failedStartOfTheFirstThreadReturns() throws InterruptedException {
        Workers workers = new Workers(limited(0, () -> {
        }), 3, 10, () -> number -> {
        });
        assertThat(workers.run()).isFalse();
        assertThatThrownBy(workers::<RuntimeException>throwFailure).isInstanceOf(OutOfMemoryError.class);
    }
}
