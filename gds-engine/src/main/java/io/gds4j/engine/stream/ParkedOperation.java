package io.gds4j.engine.stream;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * An operation on its way from the submitting thread to the serving threads. A step is handed over once the stream waits in it, before more
 * work is put behind it: a later call may have to wait for the stream.
 */
final class ParkedOperation {
    private final StreamOperation operation;
    private final boolean staged;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<Step> steps = new ArrayDeque<>();
    private int completed;
    private boolean launched;
    private boolean broken;
    private boolean handed;
    private @Nullable GatheredStreamRead read;

    /**
     * @param staged whether the stream itself copies; else the backend moves all bytes
     */
    ParkedOperation(StreamOperation operation, boolean staged) {
        this.operation = operation;
        this.staged = staged;
    }

    StreamOperation operation() {
        return operation;
    }

    boolean isStaged() {
        return staged;
    }

    /** Returns whether threads tell the stream piece by piece what to copy. */
    boolean isTold() {
        return staged && (operation.isScattered() || operation.largest() > StagingSlabs.PLACE_BYTES);
    }

    /** Sets what serves the parts of a read, before it is queued. */
    void serveBy(GatheredStreamRead parts) {
        read = parts;
    }

    /** Returns what serves the parts of a read; null if one thread serves the operation. */
    @Nullable
    GatheredStreamRead read() {
        return read;
    }

    /** Returns the number of all steps. A staged write has a second one, without a copy: it ends when the file has the bytes. */
    int steps() {
        return staged && operation.isWrite() ? 2 : 1;
    }

    /** Hands over a step in which the stream waits. */
    void hand(Step step) {
        lock.lock();
        try {
            steps.add(step);
            handed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether a step was handed over. */
    boolean isHanded() {
        lock.lock();
        try {
            return handed;
        } finally {
            lock.unlock();
        }
    }

    /** The kernel of the first step is in the stream. */
    void launch() {
        lock.lock();
        try {
            launched = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The last step is in the stream completely. */
    void complete() {
        lock.lock();
        try {
            completed++;
            launched = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** CUDA refused a call: no more steps follow. */
    void breakOff() {
        lock.lock();
        try {
            broken = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether CUDA refused a call. */
    boolean isBroken() {
        lock.lock();
        try {
            return broken;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the first step, with which an operation is queued. */
    Step first() {
        Step step = next();
        if (step == null) {
            throw new IllegalStateException("an operation is queued with its first step");
        }
        return step;
    }

    /** Waits for the next step and returns it; null if none follows. */
    @Nullable
    Step next() {
        lock.lock();
        try {
            while (steps.isEmpty() && !broken) {
                changed.awaitUninterruptibly();
            }
            return steps.poll();
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether the kernel of the first step is in the stream. */
    boolean isLaunched() {
        lock.lock();
        try {
            return launched;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until the kernel of the first step is in the stream, though not what follows it: a call that frees memory may keep the driver until
     * that kernel ends. Returns false if it never will be.
     */
    boolean awaitLaunched() {
        lock.lock();
        try {
            while (!launched && !broken) {
                changed.awaitUninterruptibly();
            }
            return launched;
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether {@code count} steps are complete. */
    boolean isComplete(int count) {
        lock.lock();
        try {
            return completed >= count;
        } finally {
            lock.unlock();
        }
    }

    /** Waits until {@code count} steps are complete. Returns false if they never will be. */
    boolean awaitComplete(int count) {
        lock.lock();
        try {
            while (completed < count && !broken) {
                changed.awaitUninterruptibly();
            }
            return completed >= count;
        } finally {
            lock.unlock();
        }
    }
}
