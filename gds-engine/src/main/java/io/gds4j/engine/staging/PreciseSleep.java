package io.gds4j.engine.staging;

import io.gds4j.ffi.posix.Posix;
import java.util.concurrent.locks.LockSupport;

/**
 * Short sleeps of a thread that waits for a GPU. The kernel may prolong any sleep by the thread's timer slack, 50 microseconds
 * by default, which is longer than many a copy takes: meanwhile the thread has next to none. It has its own back after
 * {@link #over}, because it may be the program's.
 *
 * <p>
 * Used by one thread between its first {@link #sleep} and {@link #over}.
 */
public final class PreciseSleep implements EventWait.Pause {
    /** 0 would stand for the default. */
    private static final int LEAST = 1;

    private final Posix posix;
    private boolean asked;

    /** What the thread has by itself, if that was changed, else 0. */
    private int own;

    public PreciseSleep(Posix posix) {
        this.posix = posix;
    }

    @Override
    public void sleep(long nanos) {
        if (!asked) {
            asked = true;
            int slack = posix.timerSlack();
            // Threads with a priority of real time have none.
            if (slack > LEAST && posix.setTimerSlack(LEAST) == 0) {
                own = slack;
            }
        }
        LockSupport.parkNanos(nanos);
    }

    /** Gives the thread its own timer slack back. */
    public void over() {
        asked = false;
        if (own > 0) {
            posix.setTimerSlack(own);
            own = 0;
        }
    }
}
