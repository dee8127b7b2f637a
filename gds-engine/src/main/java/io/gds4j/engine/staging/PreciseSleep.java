package io.gds4j.engine.staging;

import io.gds4j.ffi.posix.Posix;
import java.util.concurrent.locks.LockSupport;

/**
 * Short sleeps of a thread that waits for a GPU. The kernel may prolong any sleep by the thread's timer slack. The default is 50
 * microseconds, longer than many copies take. So the first sleep sets the smallest slack, and {@link #over} restores the thread's
 * own, because it may be a thread of the program.
 *
 * <p>
 * Used by one thread between its first {@link #sleep} and {@link #over}.
 */
public final class PreciseSleep implements EventWait.Pause {
    /** Smallest timer slack in nanoseconds; 0 means the default. */
    private static final int MIN_SLACK_NANOS = 1;

    private final Posix posix;
    private boolean asked;

    /** The thread's own timer slack in nanoseconds while it is replaced, else 0. */
    private int ownSlack;

    public PreciseSleep(Posix posix) {
        this.posix = posix;
    }

    @Override
    public void sleep(long nanos) {
        if (!asked) {
            asked = true;
            int slack = posix.timerSlack();
            // Threads with a real-time priority have no slack.
            if (slack > MIN_SLACK_NANOS && posix.setTimerSlack(MIN_SLACK_NANOS) == 0) {
                ownSlack = slack;
            }
        }
        LockSupport.parkNanos(nanos);
    }

    /** Restores the thread's own timer slack. */
    public void over() {
        asked = false;
        if (ownSlack > 0) {
            posix.setTimerSlack(ownSlack);
            ownSlack = 0;
        }
    }
}
