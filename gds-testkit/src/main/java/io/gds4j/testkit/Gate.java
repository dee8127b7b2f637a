package io.gds4j.testkit;

import io.gds4j.internal.lifetime.Uninterruptibly;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Stops a call in its middle until a test lets it go on: {@link #awaitArrival} returns once the call stands at the gate,
 * {@link #open} lets it through. A call that nobody lets through fails after a minute instead of hanging the test.
 *
 * @since 0.1
 */
public final class Gate {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CountDownLatch opened = new CountDownLatch(1);

    /** A closed gate at which nobody stands. */
    public Gate() {
    }

    /** Waits until a call stands at the gate or has passed it. */
    public void awaitArrival() {
        await(arrived, "no call came to the gate");
    }

    /** True once a call has come. */
    public boolean hasArrival() {
        return arrived.getCount() == 0;
    }

    /** Lets calls through from now on. */
    public void open() {
        opened.countDown();
    }

    /** For doubles: stands at the gate until it opens; an interrupt does not end the wait, the flag is kept. */
    public void pass() {
        arrived.countDown();
        await(opened, "nobody opened the gate");
    }

    private static void await(CountDownLatch latch, String complaint) {
        long end = System.nanoTime() + LIMIT.toNanos();
        Uninterruptibly.await(() -> {
            if (!latch.await(end - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                throw new AssertionError(complaint + " within " + LIMIT);
            }
        });
    }
}
