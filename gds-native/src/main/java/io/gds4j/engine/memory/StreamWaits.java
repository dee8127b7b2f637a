package io.gds4j.engine.memory;

import io.gds4j.ffi.cuda.CudaContexts;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntSupplier;

/**
 * The streams of a process that wait for words which threads of ours will set. CUDA's scheduler does not see that they wait, and
 * calls that synchronise implicitly, such as pinning and unpinning, wait for them with the driver's locks held, so that nothing
 * could ever set the words. So such calls are not made while a stream waits, and no stream begins to wait while one is under way,
 * whichever session of the process it is of.
 *
 * <p>
 * Thread-safe. All sessions over a driver share one ({@link #of}).
 */
public final class StreamWaits {
    /** Half of the channels that CUDA gives a process by default. */
    private static final int FEW = 4;

    /** So long a stream gives way to calls that wait for a time without waiting streams. */
    private static final long GIVE_WAY_NANOS = 20_000_000;

    /** So long a step waits for others; CUDA may keep one of them waiting for the program. */
    private static final long STEP_MILLIS = 50;

    private static final Map<CudaContexts, StreamWaits> BY_DRIVER = new WeakHashMap<>();

    private final ReentrantLock lock = new ReentrantLock();
    private final ReentrantLock steps = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private volatile int operations;
    private volatile int streams;
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
     * A stream is going to wait, until {@link #end}; waits itself for calls that are under way, and a moment for those that wait
     * for a time without waiting streams. Not longer: what a stream waits for may come after this.
     *
     * @param first the stream waits for nothing else of ours yet
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
     * @param last the stream waits for nothing of ours any more
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
     * Before several pieces of work are put into a stream that shall follow each other at once, where streams share a channel, too:
     * nothing for which another stream waits comes between. Waits a moment for others who do so.
     *
     * @return for {@link #endStep}
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
     * @param begun what it returned
     */
    public void endStep(boolean begun) {
        if (begun) {
            steps.unlock();
        }
    }

    /** True while a stream waits. */
    public boolean any() {
        return operations > 0;
    }

    /** True while so many streams wait that a GPU's channels may all be taken: then what is new to CUDA waits for them. */
    public boolean many() {
        return streams > FEW;
    }

    /** Waits for a time when only a few streams do. */
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

    /** Waits for a time when no stream does. */
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

    /** False if a stream waits; else none begins to before {@link #leaveCall}. */
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
     * As {@link CudaContexts#in} for a call that waits for all streams of the context. Such a call holds locks of the driver, which
     * the work that a stream waits for may need.
     */
    public int whileNone(CudaContexts contexts, long context, IntSupplier call) {
        int[] result = new int[1];
        whileNone(() -> result[0] = contexts.in(context, call));
        return result[0];
    }

    /** Does what waits for all streams at a time when none waits for us; until then it waits itself. */
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
