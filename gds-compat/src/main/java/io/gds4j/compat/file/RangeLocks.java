package io.gds4j.compat.file;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Locks page ranges of one file for writes. A direct write that shares a page with a buffered write in flight can lose data in
 * the kernel. So a write holds the pages that it covers partly exclusively, and the pages that it writes direct shared. Writes
 * of other processes are not kept out.
 *
 * <p>
 * First come, first served: a write waits for every earlier write whose range conflicts with its own, whether that one holds
 * its range or still waits for it. A write takes its whole range at once and waits for earlier ones only, so that writes cannot
 * deadlock. Thread-safe; allocates nothing while there is no contention.
 */
public final class RangeLocks {
    /** Largest number of unused {@link Hold}s that are kept for reuse. */
    private static final int MAX_SPARES = 64;

    private final long page;
    private final ReentrantLock lock = new ReentrantLock();

    /** Holds and waiting requests form a list in the order of their arrival. */
    private @Nullable Hold first;

    private @Nullable Hold last;
    private @Nullable Hold spare;
    private int spares;

    /**
     * Creates the locks of one file.
     *
     * @param page bytes to which ranges are rounded, a power of two: the size of a page, or of a block if blocks are larger
     */
    RangeLocks(long page) {
        this.page = page;
    }

    /** The pages of one write, held or waited for. */
    public static final class Hold {
        private long from;
        private long to;
        private long sharedFrom;
        private long sharedTo;

        /** Earlier entries of the list that conflict with this one; the pages are held once there are none. */
        private int blockers;

        private @Nullable Condition turn;
        private @Nullable Hold before;
        private @Nullable Hold after;

        private Hold() {
        }

        private boolean conflicts(Hold other) {
            long start = Math.max(from, other.from);
            long end = Math.min(to, other.to);
            return start < end && !(isShared(start, end) && other.isShared(start, end));
        }

        private boolean isShared(long start, long end) {
            return start >= sharedFrom && end <= sharedTo;
        }
    }

    /**
     * Waits until no earlier write conflicts, then holds the pages of a write until {@link #release}.
     *
     * @param from first byte of the write
     * @param to end of the write
     * @param sharedFrom first byte that goes direct, on a page boundary
     * @param sharedTo end of the bytes that go direct, on a page boundary; {@code sharedFrom} if there are none
     * @param interruptible an interrupt ends the wait
     * @return the hold; null if the thread was interrupted, whose interrupt flag is then set
     */
    @Nullable
    public Hold acquire(long from, long to, long sharedFrom, long sharedTo, boolean interruptible) {
        lock.lock();
        try {
            Hold hold = append(from, to, sharedFrom, sharedTo);
            return hold.blockers == 0 || awaitTurn(hold, interruptible) ? hold : null;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Holds the pages of a write until {@link #release}, if that is possible without waiting. The arguments are those of
     * {@link #acquire}.
     *
     * @return the hold; null if a write conflicts that holds its pages or waits for them
     */
    @Nullable
    public Hold tryAcquire(long from, long to, long sharedFrom, long sharedTo) {
        lock.lock();
        try {
            Hold hold = append(from, to, sharedFrom, sharedTo);
            if (hold.blockers == 0) {
                return hold;
            }
            remove(hold);
            return null;
        } finally {
            lock.unlock();
        }
    }

    /** Gives the pages back, once for each acquired hold. */
    public void release(Hold hold) {
        lock.lock();
        try {
            remove(hold);
        } finally {
            lock.unlock();
        }
    }

    private boolean awaitTurn(Hold hold, boolean interruptible) {
        Condition turn = hold.turn;
        if (turn == null) {
            turn = lock.newCondition();
            hold.turn = turn;
        }
        while (hold.blockers > 0) {
            if (!interruptible) {
                turn.awaitUninterruptibly();
                continue;
            }
            try {
                turn.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                remove(hold);
                return false;
            }
        }
        return true;
    }

    private Hold append(long from, long to, long sharedFrom, long sharedTo) {
        Hold hold = spare;
        if (hold == null) {
            hold = new Hold();
        } else {
            spare = hold.after;
            spares--;
        }
        long end = (to + page - 1) & -page;
        hold.from = from & -page;
        hold.to = end < 0 ? Long.MAX_VALUE : end;
        hold.sharedFrom = sharedFrom;
        hold.sharedTo = sharedTo;
        hold.blockers = 0;
        for (Hold earlier = first; earlier != null; earlier = earlier.after) {
            hold.blockers += hold.conflicts(earlier) ? 1 : 0;
        }
        hold.before = last;
        hold.after = null;
        if (last == null) {
            first = hold;
        } else {
            last.after = hold;
        }
        last = hold;
        return hold;
    }

    /** Takes an entry out of the list and wakes the writes that waited for it alone. */
    private void remove(Hold hold) {
        for (Hold later = hold.after; later != null; later = later.after) {
            if (later.conflicts(hold) && --later.blockers == 0 && later.turn != null) {
                later.turn.signal();
            }
        }
        Hold before = hold.before;
        Hold after = hold.after;
        if (before == null) {
            first = after;
        } else {
            before.after = after;
        }
        if (after == null) {
            last = before;
        } else {
            after.before = before;
        }
        hold.before = null;
        hold.after = null;
        if (spares < MAX_SPARES) {
            hold.after = spare;
            spare = hold;
            spares++;
        }
    }
}
