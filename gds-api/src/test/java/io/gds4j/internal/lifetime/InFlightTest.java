package io.gds4j.internal.lifetime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.Threads;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class InFlightTest {
    private static final long LENGTH = Math.min(20, Long.getLong("gds4j.property.seconds", 5));

    @Test
    void closedCounterTurnsUsersAway() {
        InFlight inFlight = new InFlight();

        assertThat(inFlight.enter()).isTrue();
        assertThat(inFlight.users()).isEqualTo(1);
        inFlight.exit();
        assertThat(inFlight.close()).isTrue();
        assertThat(inFlight.isClosed()).isTrue();
        assertThat(inFlight.enter()).isFalse();
        assertThat(inFlight.close()).isFalse();
        assertThat(inFlight.users()).isZero();
    }

    @Test
    void closeWaitsForTheLastUser() throws Exception {
        InFlight inFlight = new InFlight();
        inFlight.enter();
        inFlight.enter();
        try (Threads threads = new Threads()) {
            Future<Boolean> closed = threads.start(inFlight::close);
            threads.awaitParked();

            inFlight.exit();
            assertThat(closed).isNotDone();
            assertThat(inFlight.enter()).isFalse();
            inFlight.exit();

            assertThat(closed.get(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void interruptDoesNotEndTheWaitAndIsKept() throws Exception {
        InFlight inFlight = new InFlight();
        inFlight.enter();
        try (Threads threads = new Threads()) {
            Future<Boolean> interrupted = threads.start(() -> {
                inFlight.close();
                return Thread.interrupted();
            });
            threads.awaitParked();

            threads.interrupt();
            inFlight.exit();

            assertThat(interrupted.get(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    /** Racing closers must not lose the wake-up of the one that waits. */
    @Test
    void oneOfManyClosersClosesAndAllReturn() throws Exception {
        for (int round = 0; round < 100 * LENGTH; round++) {
            InFlight inFlight = new InFlight();
            inFlight.enter();
            CountDownLatch start = new CountDownLatch(1);
            AtomicInteger winners = new AtomicInteger();
            try (Threads threads = new Threads()) {
                List<Future<Void>> closers = IntStream.range(0, 3)
                        .mapToObj(i -> threads.start(() -> {
                            start.await();
                            if (inFlight.close()) {
                                winners.incrementAndGet();
                            }
                            return (Void) null;
                        }))
                        .toList();
                start.countDown();
                inFlight.exit();
                for (Future<Void> closer : closers) {
                    closer.get(60, TimeUnit.SECONDS);
                }
            }
            assertThat(winners).hasValue(1);
        }
    }

    @Test
    void closeIfIdleFailsWhileThereAreUsers() {
        InFlight inFlight = new InFlight();
        inFlight.enter();
        assertThat(inFlight.closeIfIdle()).isFalse();
        assertThat(inFlight.isClosed()).isFalse();
        inFlight.exit();
        assertThat(inFlight.closeIfIdle()).isTrue();
        assertThat(inFlight.closeIfIdle()).isFalse();
    }

    @Test
    void closeWaitsForUsersInAllStripes() throws Exception {
        for (int round = 0; round < 10 * LENGTH; round++) {
            InFlight inFlight = InFlight.ofManyThreads();
            AtomicInteger inside = new AtomicInteger();
            CountDownLatch begun = new CountDownLatch(4);
            try (Threads threads = new Threads()) {
                List<Future<Long>> users = IntStream.range(0, 4)
                        .mapToObj(i -> threads.start(() -> {
                            long entries = 0;
                            while (inFlight.enter()) {
                                inside.incrementAndGet();
                                entries++;
                                inside.decrementAndGet();
                                inFlight.exit();
                                begun.countDown();
                            }
                            return entries;
                        }))
                        .toList();
                begun.await();
                assertThat(inFlight.enter()).isTrue();
                // A user may exit on another thread.
                threads.start(() -> {
                    inFlight.exit();
                    return (Void) null;
                });
                assertThat(inFlight.close()).isTrue();
                assertThat(inside).as("inside after closing").hasValue(0);
                assertThat(inFlight.closeIfIdle()).isFalse();
                long entries = 0;
                for (Future<Long> user : users) {
                    entries += user.get(60, TimeUnit.SECONDS);
                }
                // Before this point a refused user may still count.
                assertThat(inFlight.users()).isZero();
                assertThat(entries).isGreaterThanOrEqualTo(4);
            }
        }
    }

    @Test
    void closeIfIdleOfManyThreadsFailsWhileThereAreUsers() {
        InFlight inFlight = InFlight.ofManyThreads();
        inFlight.enter();
        assertThat(inFlight.closeIfIdle()).isFalse();
        assertThat(inFlight.isClosed()).isFalse();
        inFlight.exit();
        assertThat(inFlight.closeIfIdle()).isTrue();
        assertThat(inFlight.enter()).isFalse();
    }

    @Test
    void moreExitsThanEntriesFail() {
        assertThatThrownBy(() -> new InFlight().exit()).isInstanceOf(AssertionError.class);
    }
}
