package io.gds4j.tools.convert;

import io.gds4j.tools.terminal.ShutdownState;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Interrupts the thread that made it when a signal ends the process, and gives it time to tidy up. */
final class ExitInterrupt implements AutoCloseable {
    private final Thread owner = Thread.currentThread();
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread hook = new Thread(this::leave);
    private final Duration most;

    /** @param most longest time to tidy up */
    ExitInterrupt(Duration most) {
        this.most = most;
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The process is ending already.
            owner.interrupt();
        }
    }

    private void leave() {
        owner.interrupt();
        try {
            closed.await(most.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            // The process ends.
        }
    }

    @Override
    public void close() {
        ShutdownState.remove(hook);
        closed.countDown();
    }
}
