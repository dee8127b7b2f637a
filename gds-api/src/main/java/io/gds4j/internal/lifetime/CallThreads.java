package io.gds4j.internal.lifetime;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Platform threads that make calls for virtual threads, which may move between carriers while they wait: a CUDA context would stay with the
 * carrier. At most {@link #MAX_THREADS} calls are under way; further callers wait in the order of coming. Threads start on demand. The first one
 * starts at once and stays, so that calls are made although the system may refuse further threads. Thread-safe.
 */
public final class CallThreads {
    /**
     * Most threads, and most calls under way. More would only wait for slabs: the default pool has 64 of the largest size. A call under
     * way may hold pinned memory and three CUDA streams.
     */
    public static final int MAX_THREADS = 64;

    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(60);

    private final ThreadFactory factory;
    private final Semaphore places = new Semaphore(MAX_THREADS, true);
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final Deque<Runnable> tasks = new ArrayDeque<>();
    private final List<Thread> threads = new ArrayList<>();
    private int idle;
    private boolean closed;

    /** @param name beginning of the threads' names */
    public CallThreads(String name) {
        this(Thread.ofPlatform().daemon().name(name, 0).factory());
    }

    /** @param factory makes threads, which may fail to start with an OutOfMemoryError */
    public CallThreads(ThreadFactory factory) {
        this.factory = factory;
        lock.lock();
        try {
            startThread();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for a place among the calls under way; {@link #leave} gives it back.
     *
     * @param function name of the call
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public void enter(String function) {
        try {
            places.acquire();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CuFileException.builder(function)
                    .error(CuFileError.IO_ERROR)
                    .detail("interrupted")
                    .transferred(0)
                    .buildInterrupted();
        }
    }

    /** Gives a place back. */
    public void leave() {
        places.release();
    }

    /**
     * Has a thread run a task, which throws nothing.
     *
     * @param function name of the call
     * @throws CuFileException INTERNAL_ERROR (EAGAIN) if there is no thread and none can be started; then the task never runs
     */
    public void execute(String function, Runnable task) {
        lock.lock();
        try {
            tasks.add(task);
            boolean serves = idle >= tasks.size() || startThread() || !threads.isEmpty();
            if (!serves) {
                tasks.removeLast();
                throw CuFileException.of(
                        CuFileError.INTERNAL_ERROR, Errno.EAGAIN, function, "the system starts no thread");
            }
            work.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether one more thread has started. The caller holds the lock. */
    private boolean startThread() {
        if (threads.size() >= MAX_THREADS || closed) {
            return false;
        }
        Thread thread = factory.newThread(this::serve);
        try {
            thread.start();
        } catch (OutOfMemoryError e) {
            return false;
        }
        threads.add(thread);
        return true;
    }

    private void serve() {
        Runnable task = take();
        while (task != null) {
            task.run();
            task = take();
        }
    }

    /** Returns the next task; null if the thread should end. */
    private @Nullable Runnable take() {
        lock.lock();
        try {
            long left = IDLE_NANOS;
            while (tasks.isEmpty() && !closed && (left > 0 || threads.size() == 1)) {
                idle++;
                try {
                    left = work.awaitNanos(Math.max(left, 1));
                } catch (InterruptedException e) {
                    left = IDLE_NANOS; // of a caller that is gone
                } finally {
                    idle--;
                }
                left = threads.size() == 1 && left <= 0 ? IDLE_NANOS : left;
            }
            if (tasks.isEmpty()) {
                threads.remove(Thread.currentThread());
            }
            return tasks.poll();
        } finally {
            lock.unlock();
        }
    }

    /** Ends the threads. No call is under way. */
    public void close() {
        List<Thread> ending;
        lock.lock();
        try {
            closed = true;
            work.signalAll();
            ending = List.copyOf(threads);
        } finally {
            lock.unlock();
        }
        ending.forEach(Uninterruptibly::join);
    }
}
