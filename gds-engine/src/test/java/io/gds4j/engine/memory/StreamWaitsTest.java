package io.gds4j.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.logging.StreamHandler;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Streams and calls that wait for each other. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StreamWaitsTest {
    private final StreamWaits waits = new StreamWaits();

    private static void awaitWaiting(Thread thread) {
        while (thread.getState() != Thread.State.WAITING && thread.getState() != Thread.State.TIMED_WAITING) {
            assertThat(thread.isAlive()).as("still waiting").isTrue();
            Thread.onSpinWait();
        }
    }

    @Test
    void callsAreMadeWhileNoStreamWaitsAndNoneBeginsMeanwhile() throws InterruptedException {
        waits.begin(true);
        assertThat(waits.tryEnterCall()).isFalse();
        AtomicBoolean called = new AtomicBoolean();
        Thread caller = Thread.ofPlatform().start(() -> waits.whileNone(() -> called.set(true)));
        awaitWaiting(caller);
        assertThat(called).isFalse();
        waits.end(true);
        caller.join();
        assertThat(called).isTrue();

        assertThat(waits.tryEnterCall()).isTrue();
        CountDownLatch begun = new CountDownLatch(1);
        Thread stream = Thread.ofPlatform().start(() -> {
            waits.begin(true);
            begun.countDown();
        });
        awaitWaiting(stream);
        assertThat(begun.getCount()).isEqualTo(1);
        waits.leaveCall();
        stream.join();
        assertThat(waits.any()).isTrue();
    }

    @Test
    void callComesToItsTurnAlthoughStreamsAlwaysWait() throws InterruptedException {
        AtomicBoolean over = new AtomicBoolean();
        AtomicInteger begun = new AtomicInteger();
        AtomicInteger waiting = new AtomicInteger();
        List<Thread> streams = new ArrayList<>();
        waits.begin(true);
        for (int i = 0; i < 4; i++) {
            streams.add(Thread.ofPlatform().start(() -> {
                while (!over.get()) {
                    waits.begin(true);
                    begun.incrementAndGet();
                    waiting.incrementAndGet();
                    LockSupport.parkNanos(2_000_000);
                    waiting.decrementAndGet();
                    waits.end(true);
                }
            }));
        }
        while (begun.get() < 8) {
            Thread.onSpinWait();
        }
        waits.end(true);
        for (int i = 0; i < 5; i++) {
            waits.whileNone(() -> assertThat(waiting).hasValue(0));
        }
        over.set(true);
        for (Thread stream : streams) {
            stream.join();
        }
        assertThat(waits.any()).isFalse();
    }

    @Test
    void streamThatOthersMayWaitForBeginsAlthoughACallWaits() throws InterruptedException {
        waits.begin(true);
        AtomicBoolean called = new AtomicBoolean();
        Thread caller = Thread.ofPlatform().start(() -> waits.whileNone(() -> called.set(true)));
        awaitWaiting(caller);
        waits.begin(true);
        assertThat(called).isFalse();
        waits.end(true);
        waits.end(true);
        caller.join();
        assertThat(called).isTrue();
    }

    @Test
    void streamsThatReadForLongLetACallGoFirst() throws InterruptedException {
        List<String> order = new CopyOnWriteArrayList<>();
        waits.begin(true);
        waits.beginMove();
        Thread caller = Thread.ofPlatform().start(() -> waits.whileNone(() -> order.add("call")));
        awaitWaiting(caller);
        List<Thread> streams = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            streams.add(Thread.ofPlatform().start(() -> {
                waits.begin(true);
                order.add("stream");
                waits.end(true);
            }));
        }
        for (Thread stream : streams) {
            awaitWaiting(stream);
        }
        waits.endMove();
        waits.end(true);
        caller.join();
        for (Thread stream : streams) {
            stream.join();
        }
        assertThat(order).hasSize(9).startsWith("call");
    }

    @Test
    void callsThatNeverEndLetAStreamGoOn() throws InterruptedException {
        AtomicBoolean over = new AtomicBoolean();
        List<Thread> callers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            callers.add(Thread.ofPlatform().start(() -> {
                while (!over.get()) {
                    waits.whileNone(Thread::onSpinWait);
                }
            }));
        }
        for (int i = 0; i < 100; i++) {
            waits.begin(true);
            waits.end(true);
        }
        over.set(true);
        for (Thread caller : callers) {
            caller.join();
        }
    }

    @Test
    void longWaitIsLoggedOnce() throws InterruptedException {
        List<String> lines = new CopyOnWriteArrayList<>();
        Logger logger = Logger.getLogger("io.gds4j");
        Handler handler = new StreamHandler() {
            @Override
            public void publish(LogRecord line) {
                lines.add(new SimpleFormatter().formatMessage(line));
            }
        };
        logger.addHandler(handler);
        logger.setUseParentHandlers(false);
        try {
            ReentrantLock lock = new ReentrantLock();
            Condition changed = lock.newCondition();
            AtomicBoolean over = new AtomicBoolean();
            Thread waiting = Thread.ofPlatform().name("waits-long").start(() -> {
                lock.lock();
                LongWait.await(changed, over::get, () -> "a slab", 1);
                lock.unlock();
            });
            while (lines.isEmpty()) {
                Thread.onSpinWait();
            }
            waiting.interrupt();
            awaitWaiting(waiting);
            over.set(true);
            lock.lock();
            changed.signalAll();
            lock.unlock();
            waiting.join();
            assertThat(lines).containsExactly("waits-long waits for 5 s: a slab");
        } finally {
            logger.removeHandler(handler);
            logger.setUseParentHandlers(true);
        }
    }
}
