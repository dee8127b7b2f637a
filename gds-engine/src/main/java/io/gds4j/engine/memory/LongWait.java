package io.gds4j.engine.memory;

import java.lang.System.Logger.Level;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Logs a wait of seconds once, with what the thread waits for. Costs nothing before a thread waits: it then waits with a time limit
 * instead of without one.
 */
public final class LongWait {
    /** Longer than a busy disk takes for a request, and short enough for a person who wonders why nothing happens. */
    public static final long NANOS = 5_000_000_000L;

    private LongWait() {
    }

    /** Logs that a thread has waited for {@link #NANOS}. */
    public static void log(String what) {
        System.getLogger("io.gds4j")
                .log(
                        Level.WARNING,
                        "{0} waits for {1} s: {2}",
                        Thread.currentThread().getName(),
                        TimeUnit.NANOSECONDS.toSeconds(NANOS),
                        what);
    }

    /**
     * Waits for a condition, whose lock the caller holds. Interrupts do not end the wait.
     *
     * @param isOver tells under the lock whether the wait is over
     * @param what tells under the lock what the thread waits for
     */
    public static void await(Condition changed, BooleanSupplier isOver, Supplier<String> what) {
        await(changed, isOver, what, NANOS);
    }

    static void await(Condition changed, BooleanSupplier isOver, Supplier<String> what, long nanos) {
        boolean interrupted = false;
        long left = nanos;
        while (!isOver.getAsBoolean()) {
            try {
                if (left > 0) {
                    left = changed.awaitNanos(left);
                    if (left <= 0 && !isOver.getAsBoolean()) {
                        log(what.get());
                    }
                } else {
                    changed.await();
                }
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
