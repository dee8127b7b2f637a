package io.gds4j.compat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Locks on page ranges of one file, for writes. A direct write that shares a page with a buffered one in flight can lose
 * data in the kernel; so the pages that a write touches partly are held exclusively and those it covers wholly are shared.
 * Other processes are not kept out.
 *
 * <p>
 * A request takes all its ranges at once, so requests cannot block each other in a ring.
 */
final class RangeLocks {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition released = lock.newCondition();
    private final List<Hold> held = new ArrayList<>();

    /**
     * Pages held by one write.
     *
     * @param from first byte, on a page boundary
     * @param to end, on a page boundary
     * @param sharedFrom start of the part held shared
     * @param sharedTo end of the part held shared
     */
    record Hold(long from, long to, long sharedFrom, long sharedTo) {
        boolean conflicts(Hold other) {
            long start = Math.max(from, other.from);
            long end = Math.min(to, other.to);
            if (start >= end) {
                return false;
            }
            boolean bothShared =
                    start >= sharedFrom && end <= sharedTo && start >= other.sharedFrom && end <= other.sharedTo;
            return !bothShared;
        }
    }

    /** Waits until nobody holds a conflicting range, then holds this one until {@link #release}. */
    void acquire(Hold wanted) {
        lock.lock();
        try {
            while (isTaken(wanted)) {
                released.awaitUninterruptibly();
            }
            held.add(wanted);
        } finally {
            lock.unlock();
        }
    }

    /** Holds this range until {@link #release}, unless somebody holds a conflicting one. */
    boolean tryAcquire(Hold wanted) {
        lock.lock();
        try {
            return !isTaken(wanted) && held.add(wanted);
        } finally {
            lock.unlock();
        }
    }

    private boolean isTaken(Hold wanted) {
        for (int i = 0; i < held.size(); i++) {
            if (held.get(i).conflicts(wanted)) {
                return true;
            }
        }
        return false;
    }

    void release(Hold hold) {
        lock.lock();
        try {
            for (int i = 0; i < held.size(); i++) {
                if (held.get(i) == hold) {
                    held.remove(i);
                    break;
                }
            }
            released.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
