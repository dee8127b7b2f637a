package io.gds4j.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Counts uses of a resource so that closing it waits for them: no lock and no allocation on the way in and out.
 *
 * <p>
 * Users call {@link #enter}, work, and {@link #exit}; the closer calls {@link #close}, which turns new users away and
 * returns once the last one has left. A user must not close what it is using: that would wait for itself. For use by
 * gds4j's own modules.
 *
 * @since 0.1
 */
public final class InFlight {
    private static final int CLOSED = 1 << 31;

    private final AtomicInteger state = new AtomicInteger();
    private volatile @Nullable Thread closer;

    /** A counter with nobody inside. */
    public InFlight() {
    }

    /**
     * Counts one user in; false once closing has begun.
     *
     * @return whether it is in
     */
    public boolean enter() {
        int now = state.get();
        while (now >= 0) {
            if (state.compareAndSet(now, now + 1)) {
                return true;
            }
            now = state.get();
        }
        return false;
    }

    /** Counts one user out, on any thread. */
    public void exit() {
        int now = state.decrementAndGet();
        if (now == CLOSED) {
            // Not yet set: the closer looks at the count once more before it parks.
            LockSupport.unpark(closer);
        } else if (now == -1 || now == Integer.MAX_VALUE) {
            throw new AssertionError("more exits than entries");
        }
    }

    /** {@return true once {@link #close} has begun} */
    public boolean isClosed() {
        return state.get() < 0;
    }

    /** {@return users inside now} */
    public int users() {
        return state.get() & ~CLOSED;
    }

    /**
     * Turns new users away, and waits for nobody.
     *
     * @return true for the one caller that closed it
     */
    public boolean turnAway() {
        int now;
        do {
            now = state.get();
            if (now < 0) {
                return false;
            }
        } while (!state.compareAndSet(now, now | CLOSED));
        return true;
    }

    /**
     * Turns new users away and waits until the last has left; an interrupt does not end the wait, the flag is kept.
     *
     * @return true for the one caller that closed it, false for any later one (who does not wait)
     */
    public boolean close() {
        if (!turnAway()) {
            return false;
        }
        closer = Thread.currentThread();
        boolean interrupted = false;
        while (state.get() != CLOSED) {
            LockSupport.park(this);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return true;
    }

    /**
     * Turns new users away if there are none inside.
     *
     * @return false if there are some, or if it is closed already
     */
    public boolean closeIfIdle() {
        return state.compareAndSet(0, CLOSED);
    }

    /**
     * The exception for a resource that {@link #enter} refused.
     *
     * @param error the code
     * @param function the C function
     * @param what names it in messages
     * @return the exception
     */
    public static CuFileException closed(CuFileError error, String function, String what) {
        return CuFileException.of(error, function, what + " is closed");
    }
}
