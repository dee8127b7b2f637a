package io.gds4j.internal.lifetime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The threads that make calls for virtual threads. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CallThreadsTest {
    private static final String READ = "cuFileRead";

    private final AtomicInteger startsLeft = new AtomicInteger(Integer.MAX_VALUE);
    private final AtomicInteger started = new AtomicInteger();

    /** A thread that the system can start only as long as there are some left. */
    private Thread thread(Runnable work) {
        return new Thread(work) {
            @Override
            public void start() {
                if (startsLeft.getAndDecrement() <= 0) {
                    throw new OutOfMemoryError("unable to create native thread");
                }
                started.incrementAndGet();
                super.start();
            }
        };
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void callsOfAnyNumberUseABoundedNumberOfThreads() {
        CallThreads threads = new CallThreads(this::thread);
        int calls = 10 * CallThreads.MAX_THREADS;
        CountDownLatch atWork = new CountDownLatch(CallThreads.MAX_THREADS);
        CountDownLatch done = new CountDownLatch(calls);
        for (int i = 0; i < calls; i++) {
            threads.execute(READ, () -> {
                atWork.countDown();
                await(atWork);
                done.countDown();
            });
        }
        await(done);
        assertThat(started).hasValue(CallThreads.MAX_THREADS);
        threads.close();
    }

    @Test
    void oneThreadServesAllCallsIfNoOtherStarts() {
        startsLeft.set(1);
        CallThreads threads = new CallThreads(this::thread);
        CountDownLatch done = new CountDownLatch(100);
        for (int i = 0; i < 100; i++) {
            threads.execute(READ, done::countDown);
        }
        await(done);
        assertThat(started).hasValue(1);
        threads.close();
    }

    @Test
    void callWithoutAnyThreadFails() {
        startsLeft.set(0);
        CallThreads threads = new CallThreads(this::thread);
        CuFileException failure =
                catchThrowableOfType(CuFileException.class, () -> threads.execute(READ, () -> started.set(99)));
        assertThat(failure.error()).isEqualTo(CuFileError.INTERNAL_ERROR);
        assertThat(failure.errno()).hasValue(Errno.EAGAIN);
        assertThat(failure.function()).isEqualTo(READ);
        startsLeft.set(1);
        CountDownLatch done = new CountDownLatch(1);
        threads.execute(READ, done::countDown);
        await(done);
        assertThat(started).hasValue(1);
        threads.close();
    }

    @Test
    void interruptEndsTheWaitForAPlace() throws InterruptedException {
        CallThreads threads = new CallThreads(this::thread);
        for (int i = 0; i < CallThreads.MAX_THREADS; i++) {
            threads.enter(READ);
        }
        AtomicInteger interrupted = new AtomicInteger();
        Thread late = Thread.ofVirtual().start(() -> {
            assertThat(catchThrowableOfType(CuFileInterruptedException.class, () -> threads.enter(READ))
                    .bytesTransferred()).isZero();
            interrupted.set(Thread.interrupted() ? 1 : 2);
        });
        late.interrupt();
        late.join();
        assertThat(interrupted).hasValue(1);
        threads.leave();
        threads.enter(READ);
        threads.close();
    }
}
