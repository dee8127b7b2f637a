package io.gds4j.engine.staging;

import io.gds4j.engine.memory.LongWait;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Threads that wait for something that other threads give back: first come, first served. A long wait is logged once. Thread-safe. */
final class WaitingLine {
    /** How often a waiting thread asks whether its request is over: a thread that cancels a request does not know where it waits. */
    private static final long ASK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final String what;
    private final ReentrantLock lock;
    private final Condition changed;

    /** One ticket for each waiting thread, in the order of coming. Guarded by the lock. */
    private final Deque<Object> tickets = new ArrayDeque<>();

    /** Number of tickets. Written under the lock. */
    private volatile int waiting;

    /**
     * @param what name of the thing, for the log
     * @param lock is held while a waiting thread takes what it waits for
     */
    WaitingLine(String what, ReentrantLock lock) {
        this.what = what;
        this.lock = lock;
        this.changed = lock.newCondition();
    }

    /** Returns whether no thread waits. A thread that comes while others wait joins the line, whatever is free. */
    boolean isEmpty() {
        return waiting == 0;
    }

    /**
     * Waits for this thread's turn and then for what it wants.
     *
     * @param take returns it, or null if there is none; called by the first thread of the line, with the lock held
     * @param isOver whether the request needs it no more, for example because of an interrupt, which stays set
     * @return null once the request is over
     */
    <T> @Nullable T await(Supplier<@Nullable T> take, BooleanSupplier isOver) {
        Object mine = new Object();
        boolean interrupted = false;
        boolean logged = false;
        long begun = System.nanoTime();
        lock.lock();
        enter(mine);
        try {
            while (true) {
                T taken = tickets.peekFirst() == mine ? take.get() : null;
                if (taken != null) {
                    return taken;
                }
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
                if (isOver.getAsBoolean()) {
                    return null;
                }
                interrupted = Thread.interrupted(); // the wait would end at once
                interrupted |= isInterruptedInPause();
                if (!logged && System.nanoTime() - begun > LongWait.NANOS) {
                    logged = true;
                    LongWait.log(what + ", for which " + tickets.size() + " threads wait");
                }
            }
        } finally {
            leave(mine);
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void enter(Object ticket) {
        tickets.addLast(ticket);
        waiting = tickets.size();
    }

    private void leave(Object ticket) {
        tickets.remove(ticket);
        waiting = tickets.size();
        changed.signalAll();
    }

    private boolean isInterruptedInPause() {
        try {
            changed.awaitNanos(ASK_NANOS);
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }

    /** Something came back. */
    void changed() {
        if (waiting > 0) {
            lock.lock();
            try {
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }
}
