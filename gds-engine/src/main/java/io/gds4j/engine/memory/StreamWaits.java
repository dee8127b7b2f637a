package io.gds4j.engine.memory;

import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;

/**
 * Keeps calls that synchronise implicitly, such as pinning and unpinning, apart from streams that wait for a word. Threads of gds4j
 * set these words, and CUDA's scheduler does not see that the streams wait. An implicitly synchronising call would wait for such a
 * stream with the driver's locks held, and could keep the word from ever being set. So no such call begins while a stream waits, and
 * no stream begins to wait during such a call, whichever session they belong to.
 *
 * <p>
 * Calls and streams take turns. While a call waits and operations in flight advance, no further stream begins to wait; the call is made
 * when the last of these operations ends. If none advances, they may be waiting for the program, and the program for its next operation.
 * Then streams may begin to wait before the call is made.
 *
 * <p>
 * Thread-safe. All sessions over a driver share one ({@link #of}).
 */
public final class StreamWaits {
    /** Time without an advance in nanoseconds after which the operations in flight seem to wait for the program. */
    private static final long QUIET_NANOS = 500_000_000;

    /**
     * Longest time in nanoseconds for which a stream's wait yields to calls: a source of the program may deliver its bytes only when the
     * program has submitted its next operation.
     */
    private static final long MAX_YIELD_NANOS = 30_000_000_000L;

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

    /** Number of calls that have waited so far; the number of each call that waits now. */
    private long arrivals;
    private final ArrayDeque<Long> callers = new ArrayDeque<>();

    /** Number of threads that move bytes of operations now, and when one began or ended last. */
    private final AtomicInteger moving = new AtomicInteger();
    private volatile long advanced = System.nanoTime() - QUIET_NANOS;

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
     * A stream is going to wait, until {@link #end}. Waits for calls under way, and for the calls that wait already while operations in
     * flight advance. It must not wait longer: the work that a stream waits for may be submitted after this.
     *
     * @param first true if the stream has no other wait
     */
    public void begin(boolean first) {
        lock.lock();
        try {
            if (!callers.isEmpty()) {
                giveWay();
            }
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
        long last = arrivals;
        long until = System.nanoTime() + MAX_YIELD_NANOS;
        boolean interrupted = false;
        while (!callers.isEmpty() && callers.getFirst() <= last && isAdvancing() && System.nanoTime() - until < 0) {
            try {
                changed.awaitNanos(QUIET_NANOS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether the operations in flight will end without more work of the program, as far as one can tell. */
    private boolean isAdvancing() {
        return !any() || moving.get() > 0 || System.nanoTime() - advanced < QUIET_NANOS;
    }

    /** A thread begins to move bytes of an operation, until {@link #endMove}. */
    public void beginMove() {
        moving.incrementAndGet();
    }

    /** Ends what {@link #beginMove} began. */
    public void endMove() {
        advanced = System.nanoTime();
        moving.decrementAndGet();
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
            advanced = System.nanoTime();
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

    /**
     * Returns whether a thread should copy this memory itself. That is so for managed memory while streams may wait for this process:
     * the driver's copies of it wait for all streams, which might in turn wait for the copy. It is not so for managed memory that
     * processors may not touch while its GPU works.
     */
    public boolean leavesToProcessor(MemoryRange memory, CudaContexts contexts) {
        return memory.kind() == MemoryKind.CUDA_MANAGED && mayCome() && contexts.sharesManagedMemory(memory.device());
    }

    /** Returns true while a stream waits. */
    public boolean any() {
        return operations > 0;
    }

    /** Waits until no stream waits. */
    public void awaitNone() {
        lock.lock();
        try {
            await(() -> !any());
        } finally {
            lock.unlock();
        }
    }

    private void await(BooleanSupplier isOver) {
        if (isOver.getAsBoolean()) {
            return;
        }
        Long number = ++arrivals;
        callers.add(number);
        LongWait.await(changed, isOver, this::inFlight);
        callers.remove(number);
        changed.signalAll();
    }

    private String inFlight() {
        int threads = moving.get();
        return "an allocation, a free or a registration waits for %s operations of %s CUDA streams; %s".formatted(
                operations, streams,
                threads > 0
                        ? "threads move the bytes of %s".formatted(threads)
                        : "none is being moved, so the streams wait for their program or for the GPU");
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
            await(() -> !any());
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
