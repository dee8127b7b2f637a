package io.gds4j.engine.stream;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * An operation, or a part of a gathered read, on its way from the submitting thread to the serving thread. A step is handed over once
 * the stream waits in it, before more work is put behind it: a later call may have to wait for the stream.
 */
final class ParkedOperation {
    private final StreamOperation operation;
    private final int copies;
    private final @Nullable Part part;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<Step> steps = new ArrayDeque<>();
    private int completed;

    /** @param number from 0 on */
    record Part(GatheredStreamRead read, int number) {
    }

    private boolean broken;
    private boolean handed;

    /**
     * @param copies steps in which the stream itself copies; 0 if the backend moves all bytes
     */
    ParkedOperation(StreamOperation operation, int copies) {
        this(operation, copies, null);
    }

    /** Parks a part, which has one step. */
    ParkedOperation(StreamOperation operation, Part part) {
        this(operation, 1, part);
    }

    private ParkedOperation(StreamOperation operation, int copies, @Nullable Part part) {
        this.operation = operation;
        this.copies = copies;
        this.part = part;
    }

    /** @return the part; null if this is a whole operation */
    @Nullable
    Part part() {
        return part;
    }

    StreamOperation operation() {
        return operation;
    }

    int copies() {
        return copies;
    }

    boolean isStaged() {
        return copies > 0;
    }

    /** Returns the number of all steps. A write has one more than copies: it ends when the file has the bytes. */
    int steps() {
        return isStaged() && !operation.isWrite() ? copies : copies + 1;
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

    /** The last step is in the stream completely. */
    void complete() {
        lock.lock();
        try {
            completed++;
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

    /** Returns the next step if there is one now. */
    @Nullable
    Step poll() {
        lock.lock();
        try {
            return steps.poll();
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
