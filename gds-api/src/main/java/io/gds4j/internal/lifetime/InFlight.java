package io.gds4j.internal.lifetime;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Counts uses of a resource so that closing it waits for them: no lock and no allocation on the way in and out.
 *
 * <p>
 * Users call {@link #enter}, work, and {@link #exit}; the closer calls {@link #close}, which turns new users away and
 * returns once the last one has left. A user must not close what it uses: that would wait for itself.
 */
public final class InFlight {
    private static final int CLOSED = 1 << 31;
    private static final int STRIPES = 16;

    /** Distance of two stripes in ints: two cache lines, because processors fetch lines in pairs. */
    private static final int SPACING = 32;

    /**
     * Accesses {@link #state}: a field is one cache line fewer than an atomic object, and each line costs a call
     * nanoseconds.
     */
    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(InFlight.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private volatile int state;
    private final boolean spreads;

    /** Counts beside {@link #state}; made when two threads first enter at the same time. */
    private volatile @Nullable AtomicIntegerArray stripes;

    private volatile @Nullable Thread closer;

    /** A counter without users. */
    public InFlight() {
        this(false);
    }

    private InFlight(boolean spreads) {
        this.spreads = spreads;
    }

    /**
     * A counter for many threads at a time. Once two threads collide, each thread counts in a stripe, because a single
     * number that sixteen processors change moves between their caches at each call. {@link #closeIfIdle} may refuse a
     * user that enters at that moment, even if the counter then stays open.
     */
    public static InFlight ofManyThreads() {
        return new InFlight(true);
    }

    /** Counts one user in; false once closing has begun. */
    public boolean enter() {
        AtomicIntegerArray apart = stripes;
        int now = state;
        while (apart == null && now >= 0) {
            if (STATE.compareAndSet(this, now, now + 1)) {
                return true;
            }
            apart = spreads ? spread() : null;
            now = state;
        }
        if (apart == null || now < 0) {
            return false;
        }
        int place = place();
        apart.incrementAndGet(place);
        if (state >= 0) {
            return true;
        }
        // The closer may have counted this user.
        apart.decrementAndGet(place);
        LockSupport.unpark(closer);
        return false;
    }

    /** Counts one user out, on any thread. */
    public void exit() {
        AtomicIntegerArray apart = stripes;
        if (apart != null) {
            // A stripe goes below 0 when one thread enters and another one exits: only the sum counts.
            apart.decrementAndGet(place());
            if (state < 0) {
                LockSupport.unpark(closer);
            }
            return;
        }
        int now = (int) STATE.getAndAdd(this, -1) - 1;
        if (now == -1 || now == Integer.MAX_VALUE) {
            throw new AssertionError("more exits than entries");
        }
        if (now < 0) {
            // If it is not set yet, the closer reads the count once more before it parks.
            LockSupport.unpark(closer);
        }
    }

    private synchronized AtomicIntegerArray spread() {
        AtomicIntegerArray apart = stripes;
        if (apart == null) {
            apart = new AtomicIntegerArray((STRIPES + 1) * SPACING);
            stripes = apart;
        }
        return apart;
    }

    private static int place() {
        return ((int) Thread.currentThread().threadId() & STRIPES - 1) * SPACING + SPACING;
    }

    private int apart() {
        AtomicIntegerArray apart = stripes;
        int sum = 0;
        for (int i = SPACING; apart != null && i < apart.length(); i += SPACING) {
            sum += apart.get(i);
        }
        return sum;
    }

    /** {@return true once {@link #close} has begun} */
    public boolean isClosed() {
        return state < 0;
    }

    /** {@return users inside now} */
    public int users() {
        return (state & ~CLOSED) + apart();
    }

    /** Turns new users away, without waiting for those inside; true for the one caller that closed it. */
    public boolean turnAway() {
        int now;
        do {
            now = state;
            if (now < 0) {
                return false;
            }
        } while (!STATE.compareAndSet(this, now, now | CLOSED));
        return true;
    }

    /**
     * Turns new users away and waits until the last one has left; true for the one caller that closed it. A later
     * caller does not wait. An interrupt does not end the wait; the flag stays set.
     */
    public boolean close() {
        if (!turnAway()) {
            return false;
        }
        awaitLast();
        return true;
    }

    /** Waits until the last user has left, after {@link #turnAway}, on one thread. An interrupt does not end the wait. */
    void awaitLast() {
        closer = Thread.currentThread();
        // From now on the sum only goes down, except for users that are turned away: they leave the stripe that they
        // entered, so that the sum is never less than the users inside.
        Uninterruptibly.parkWhile(this, () -> users() != 0);
    }

    /** Turns new users away if there are none inside; false if there are some, or if it is closed already. */
    public boolean closeIfIdle() {
        if (!spreads) {
            return STATE.compareAndSet(this, 0, CLOSED);
        }
        int now = state;
        if (now < 0 || users() != 0 || !STATE.compareAndSet(this, now, now | CLOSED)) {
            return false;
        }
        if (users() == 0) {
            return true;
        }
        STATE.getAndAdd(this, CLOSED);
        return false;
    }
}
