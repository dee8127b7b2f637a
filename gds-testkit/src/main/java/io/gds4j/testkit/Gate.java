package io.gds4j.testkit;

import io.gds4j.internal.lifetime.Uninterruptibly;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Blocks a call in the middle until a test lets it continue: {@link #awaitArrival} returns once the call waits at the
 * gate, {@link #open} lets it pass. If the gate stays closed, the call fails after a minute instead of hanging the
 * test.
 *
 * @since 0.1
 */
public final class Gate {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CountDownLatch opened = new CountDownLatch(1);

    /** Creates a closed gate. */
    public Gate() {
    }

    /** Waits until a call waits at the gate or has passed it. */
    public void awaitArrival() {
        await(arrived, "no call arrived at the gate");
    }

    /** True once a call has arrived. */
    public boolean hasArrival() {
        return arrived.getCount() == 0;
    }

    /** Lets all calls pass from now on. */
    public void open() {
        opened.countDown();
    }

    /** For test doubles: waits until the gate opens. An interrupt does not end the wait; the flag stays set. */
    public void pass() {
        arrived.countDown();
        await(opened, "the gate stayed closed");
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
