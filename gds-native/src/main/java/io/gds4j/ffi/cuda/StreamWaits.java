package io.gds4j.ffi.cuda;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The streams of a process that wait for words which threads of ours will set. CUDA's scheduler does not see that they wait, and
 * calls that synchronise implicitly, such as pinning and unpinning, wait for them with the driver's locks held, so that nothing
 * could ever set the words. So such calls are not made while a stream waits, and no stream begins to wait while one is under way,
 * whichever session of the process it is of.
 *
 * <p>
 * Thread-safe; one for all users of a driver, see {@link CudaContexts#streamWaits()}.
 */
public final class StreamWaits {
    /** Half of the channels that CUDA gives a process by default. */
    private static final int FEW = 4;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private volatile int operations;
    private volatile int streams;
    private int calls;

    /** Nothing waits. */
    public StreamWaits() {
    }

    /**
     * A stream is going to wait, until {@link #end}; waits itself for calls that are under way.
     *
     * @param first the stream waits for nothing else of ours yet
     */
    public void begin(boolean first) {
        lock.lock();
        try {
            operations++;
            streams += first ? 1 : 0;
            while (calls > 0) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
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
            while (any()) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
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

    /** Does what waits for all streams at a time when none waits for us; until then it waits itself. */
    public void whileNone(Runnable call) {
        while (!tryEnterCall()) {
            awaitNone();
        }
        try {
            call.run();
        } finally {
            leaveCall();
        }
    }
}
