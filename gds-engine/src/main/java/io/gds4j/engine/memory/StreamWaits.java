package io.gds4j.engine.memory;

import io.gds4j.ffi.cuda.CudaContexts;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;

/**
 * Keeps calls that synchronise implicitly, such as pinning and unpinning, apart from streams that wait for a word. Threads of gds4j
 * set these words, and CUDA's scheduler does not see that the streams wait. An implicitly synchronising call would wait for such a
 * stream with the driver's locks held, and could keep the word from ever being set. So no such call begins while a stream waits, and
 * no stream begins to wait during such a call, whichever session they belong to.
 *
 * <p>
 * Thread-safe. All sessions over a driver share one ({@link #of}).
 */
public final class StreamWaits {
    /** Streams that may wait before new work may find no free channel: half of the channels that CUDA gives a process by default. */
    private static final int FEW = 4;

    /** How long a new wait yields to pending calls, such as pin and unpin. */
    private static final long GIVE_WAY_NANOS = 20_000_000;

    /** How long a step waits for another step, which CUDA may hold up until the program acts. */
    private static final long STEP_MILLIS = 50;

    private static final Map<CudaContexts, StreamWaits> BY_DRIVER = new WeakHashMap<>();

    private final ReentrantLock lock = new ReentrantLock();
    private final ReentrantLock steps = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private volatile int operations;
    private volatile int streams;
    private volatile boolean expected;
    private int calls;
    private int callers;

    /** Of a session without a driver: nothing waits. */
    public StreamWaits() {
    }

    /** Returns the one that all sessions over this driver share. */
    public static StreamWaits of(CudaContexts contexts) {
        synchronized (BY_DRIVER) {
            return BY_DRIVER.computeIfAbsent(contexts, missing -> new StreamWaits());
        }
    }

    /**
     * A stream is going to wait, until {@link #end}. Waits for calls under way, and briefly for pending calls. It must not wait longer:
     * the work that a stream waits for may be submitted after this.
     *
     * @param first true if the stream has no other wait
     */
    public void begin(boolean first) {
        lock.lock();
        try {
            giveWay();
            operations++;
            streams += first ? 1 : 0;
            while (calls > 0) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }

    private void giveWay() {
        boolean interrupted = false;
        long left = GIVE_WAY_NANOS;
        while (callers > 0 && any() && left > 0) {
            try {
                left = changed.awaitNanos(left);
            } catch (InterruptedException e) {
                interrupted = true;
                left = 0;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Ends what {@link #begin} began.
     *
     * @param last true if the stream has no other wait
     */
    public void end(boolean last) {
        lock.lock();
        try {
            operations--;
            streams -= last ? 1 : 0;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Called before several pieces of work are put into a stream that must follow each other at once. Streams may share a channel, and
     * no wait of another stream may come between. Waits briefly for other threads in a step.
     *
     * @return the argument of {@link #endStep}
     */
    public boolean beginStep() {
        boolean interrupted = false;
        boolean begun = false;
        try {
            begun = steps.tryLock(STEP_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            interrupted = true;
            begun = steps.tryLock();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return begun;
    }

    /**
     * Ends what {@link #beginStep} began.
     *
     * @param begun its result
     */
    public void endStep(boolean begun) {
        if (begun) {
            steps.unlock();
        }
    }

    /** Streams may wait from now on: a program has registered one. */
    public void expect() {
        expected = true;
    }

    /** Returns true if streams may wait, now or while the caller is at work. */
    public boolean mayCome() {
        return expected || any();
    }

    /** Returns true while a stream waits. */
    public boolean any() {
        return operations > 0;
    }

    /** Returns true while so many streams wait that they may block all channels of a GPU, and with them all new work. */
    public boolean many() {
        return streams > FEW;
    }

    /** Waits until only a few streams wait. */
    public void awaitFew() {
        lock.lock();
        try {
            while (many()) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits until no stream waits. */
    public void awaitNone() {
        lock.lock();
        try {
            awaitNoneLocked();
        } finally {
            lock.unlock();
        }
    }

    private void awaitNoneLocked() {
        callers++;
        while (any()) {
            changed.awaitUninterruptibly();
        }
        callers--;
        changed.signalAll();
    }

    /** Returns false if a stream waits; else no stream begins to wait before {@link #leaveCall}. */
    public boolean tryEnterCall() {
        lock.lock();
        try {
            if (any()) {
                return false;
            }
            calls++;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Ends what {@link #tryEnterCall} began. */
    public void leaveCall() {
        lock.lock();
        try {
            calls--;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Makes a call in a context, as {@link CudaContexts#in}, while no stream waits.
     */
    public int whileNone(CudaContexts contexts, long context, IntSupplier call) {
        int[] result = new int[1];
        whileNone(() -> result[0] = contexts.in(context, call));
        return result[0];
    }

    /** Runs a call that synchronises implicitly. Waits until no stream waits, and keeps streams from waiting meanwhile. */
    public void whileNone(Runnable call) {
        lock.lock();
        try {
            awaitNoneLocked();
            calls++;
        } finally {
            lock.unlock();
        }
        try {
            call.run();
        } finally {
            leaveCall();
        }
    }
}
