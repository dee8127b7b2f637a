package io.gds4j.engine.stream;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * An operation on its way from the thread that puts it into a stream to the one that serves it. A step is handed over once the
 * stream waits, before anything more is put behind it: a call that comes after may have to wait for the stream.
 */
final class ParkedOperation {
    private final StreamOperation operation;
    private final int copies;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<Step> steps = new ArrayDeque<>();
    private int completed;
    private boolean broken;

    /**
     * @param copies steps with which the stream copies itself; 0 for an operation that is served by the backend alone
     */
    ParkedOperation(StreamOperation operation, int copies) {
        this.operation = operation;
        this.copies = copies;
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

    /** All steps: what was written is not done before it is in the file. */
    int steps() {
        return isStaged() && !operation.isWrite() ? copies : copies + 1;
    }

    /** The stream waits in this step. */
    void hand(Step step) {
        lock.lock();
        try {
            steps.add(step);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** All of the step handed over last stands in the stream. */
    void complete() {
        lock.lock();
        try {
            completed++;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** CUDA has refused something: no more comes. */
    void breakOff() {
        lock.lock();
        try {
            broken = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** The next step, once it is handed over; null if there will be none. */
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

    /** The next step if it is handed over. */
    @Nullable
    Step poll() {
        lock.lock();
        try {
            return steps.poll();
        } finally {
            lock.unlock();
        }
    }

    /** False if that many steps will never be complete. */
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
