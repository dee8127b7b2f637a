package io.gds4j.dataset;

import io.gds4j.CuFileStream;
import io.gds4j.dataset.BatchBuffer.State;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Closing;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * The buffers between readers and consumer. Readers plan batches in the order of positions and read parts of several batches at the
 * same time. Batches leave in order. One lock guards everything but the tasks of a batch, which readers claim without it.
 */
final class BatchRing {
    /** Time between two looks at streams that have buffers. */
    private static final long POLL_NANOS = 50_000;

    /** Looks at streams before a reader waits for one, when it has nothing else to do. */
    private static final int POLLS_BEFORE_WAIT = 40;

    private final BatchPlanner planner;
    private final RecordMemory memory;
    private final LongFunction<LoaderState> states;
    private final Duration closeTimeout;
    private final LoaderCounters counters = new LoaderCounters();
    private final BufferQueue free;
    private final BufferQueue flight;
    private final BufferQueue passing;
    private final int buffers;
    private final Deque<BatchTaker> waiting = new ArrayDeque<>();

    private long planned;
    private long delivered;
    private int held;
    private int readers;
    private boolean polled;
    /** A batch has failed: no later one is planned. Those before it are still delivered. */
    private boolean failed;
    private boolean closed;
    private boolean freed;
    private @Nullable Throwable failure;

    BatchRing(
            BatchPlanner planner, RecordMemory memory, List<BatchBuffer> all, LongFunction<LoaderState> states,
            long position, Duration closeTimeout) {
        this.planner = planner;
        this.memory = memory;
        this.states = states;
        this.closeTimeout = closeTimeout;
        this.buffers = all.size();
        this.free = new BufferQueue(buffers);
        this.flight = new BufferQueue(buffers);
        this.passing = new BufferQueue(buffers);
        all.forEach(free::add);
        this.planned = position;
        this.delivered = position;
    }

    // ---- readers

    synchronized void readerBegins() {
        readers++;
    }

    synchronized void readerEnds() {
        readers--;
        notifyAll();
    }

    /** Waits for a batch with unclaimed tasks. Plans batches on the way; returns null when there is nothing more to do. */
    @Nullable
    BatchBuffer next() {
        int polls = 0;
        while (true) {
            BatchBuffer toPlan = null;
            BatchBuffer toAwait = null;
            List<BatchTaker> stalled = null;
            synchronized (this) {
                if (isOver()) {
                    return null;
                }
                reap();
                BatchBuffer readable = flight.first(BatchBuffer::isClaimable);
                if (readable != null) {
                    return readable;
                }
                if (mayPlan() && !free.isEmpty()) {
                    toPlan = free.removeLast(); // caches of the processors may still have its memory
                    begin(toPlan);
                } else if (!mayPlan() && flight.first(BatchBuffer::isPlanning) == null) {
                    return null;
                } else if (passing.isEmpty() || polled) {
                    stalled = awaitWork();
                } else {
                    polled = true;
                    // Taken out: nobody else may use it again before the wait is over.
                    toAwait = flight.isEmpty() && polls >= POLLS_BEFORE_WAIT ? passing.remove() : null;
                }
            }
            if (toPlan != null) {
                plan(toPlan);
                polls = 0;
            } else if (stalled == null) {
                poll(toAwait);
                polls++;
            } else if (!stalled.isEmpty()) {
                failStalled(stalled);
            }
        }
    }

    private boolean isOver() {
        return closed || failure != null;
    }

    /** Assigns the next records to a buffer. The source is the program's code: whatever it throws fails the batch. */
    private void begin(BatchBuffer buffer) {
        int count = 0;
        Throwable reason = null;
        try {
            count = planner.count(planned);
        } catch (Throwable e) {
            reason = e;
        }
        buffer.begin(planned, count);
        buffer.failure = reason;
        failed |= reason != null;
        planned += count;
        flight.add(buffer);
        account();
    }

    private boolean mayPlan() {
        return planned < end() && !failed;
    }

    /** Waits for a change. Returns the takers that have to fail because for too long all buffers belong to batches that no one closes. */
    private List<BatchTaker> awaitWork() {
        long nanos = stalls() ? closeTimeout.toNanos() - (System.nanoTime() - counters.stalledSince()) : Long.MAX_VALUE;
        if (nanos <= 0) {
            List<BatchTaker> takers = new ArrayList<>(waiting);
            takers.removeIf(taker -> !taker.claim());
            account();
            return takers;
        }
        try {
            wait(nanos == Long.MAX_VALUE ? 0 : TimeUnit.NANOSECONDS.toMillis(nanos) + 1);
        } catch (InterruptedException e) {
            // Our own thread: it ends when the loader closes.
            System.getLogger("io.gds4j.dataset").log(System.Logger.Level.DEBUG, "a reader was interrupted", e);
        }
        return List.of();
    }

    /** Fails takers on this thread, outside the lock: the threads of a pool may wait for the consumer. */
    private void failStalled(List<BatchTaker> takers) {
        CuFileException reason = CuFileException.of(CuFileError.IO_ERROR, Errno.ETIMEDOUT, Failures.FUNCTION,
                "all %s buffers belong to batches that are not closed, for %s ms; close each batch".formatted(
                        buffers, closeTimeout.toMillis()));
        takers.forEach(taker -> taker.fail(reason));
    }

    private boolean stalls() {
        return !waiting.isEmpty() && held == buffers;
    }

    private void poll(@Nullable BatchBuffer toAwait) {
        try {
            if (toAwait == null) {
                LockSupport.parkNanos(POLL_NANOS);
            } else {
                toAwait.awaitPassed();
            }
        } catch (CuFileException e) {
            // The driver cannot say when the stream has passed, so the buffer is lost, and perhaps the GPU.
            fail(e);
        } finally {
            // Wakes no other reader: this one looks again at once.
            synchronized (this) {
                polled = false;
                if (toAwait != null) {
                    toAwait.state = State.FREE;
                    free.add(toAwait);
                }
            }
        }
    }

    private void fail(CuFileException reason) {
        synchronized (this) {
            failure = reason;
            stopReading();
            notifyAll();
        }
        deliver();
    }

    private void stopReading() {
        for (int i = 0; i < flight.size(); i++) {
            flight.get(i).withdraw();
        }
    }

    private void plan(BatchBuffer buffer) {
        Throwable reason = buffer.failure;
        try {
            if (reason == null) {
                planner.plan(buffer);
            }
        } catch (Throwable e) {
            // Errors too: the source is the program's code.
            reason = e;
        }
        if (reason != null || buffer.runs == 0) {
            complete(buffer, reason);
            return;
        }
        synchronized (this) {
            if (!isOver()) {
                buffer.publish();
                notifyAll();
            }
        }
    }

    /** Ends a claimed task. The last task of a batch makes it ready for delivery. */
    void finish(BatchBuffer buffer, @Nullable Throwable reason) {
        if (reason != null) {
            synchronized (this) {
                fail(buffer, reason);
                notifyAll();
            }
        }
        if (buffer.finish()) {
            Throwable later = null;
            try {
                memory.leaveOutBad(buffer);
            } catch (Throwable e) {
                later = e;
            }
            complete(buffer, later);
        }
    }

    private void fail(BatchBuffer buffer, @Nullable Throwable reason) {
        if (reason != null && buffer.failure == null) {
            buffer.failure = reason;
            failed = true;
        }
    }

    private void complete(BatchBuffer buffer, @Nullable Throwable reason) {
        synchronized (this) {
            fail(buffer, reason);
            buffer.state = State.READY;
            notifyAll();
        }
        deliver();
    }

    // ---- consumer

    BatchTaker take() {
        BatchTaker taker = new BatchTaker();
        synchronized (this) {
            account();
            waiting.add(taker);
            account();
            notifyAll();
        }
        deliver();
        return taker;
    }

    /** Gives ready batches to takers in order, and failures and the end to all that wait. */
    private void deliver() {
        while (true) {
            BatchTaker taker;
            RecordBatch batch = null;
            Throwable reason = null;
            synchronized (this) {
                account();
                BatchBuffer first = flight.isEmpty() ? null : flight.get(0);
                boolean ready = first != null && !first.isIncomplete();
                if (waiting.isEmpty() || !isOver() && delivered < end() && !ready) {
                    return;
                }
                taker = waiting.remove();
                if (!taker.claim()) {
                    continue;
                }
                if (closed) {
                    reason = Failures.closed();
                } else if (failure != null) {
                    reason = failure;
                } else if (first == null) {
                    reason = new NoSuchElementException("all records have been delivered");
                } else if (first.failure != null) {
                    reason = first.failure;
                    failure = reason;
                    stopReading();
                } else {
                    batch = hold(flight.remove());
                }
                account();
                notifyAll();
            }
            if (batch != null) {
                taker.deliver(batch);
            } else if (reason != null) {
                taker.fail(reason);
            }
        }
    }

    private RecordBatch hold(BatchBuffer buffer) {
        buffer.state = State.HELD;
        held++;
        delivered = buffer.position + buffer.count;
        counters.delivered(buffer, planner.itinerary().epoch(buffer.position));
        return new RecordBatch(this, buffer, planner.itinerary().epoch(buffer.position));
    }

    void release(BatchBuffer buffer) {
        release(buffer, State.FREE, free);
    }

    void release(BatchBuffer buffer, CuFileStream stream) {
        buffer.mark(stream, memory.file(0), memory.driver().allocator());
        release(buffer, State.PASSING, passing);
    }

    private void release(BatchBuffer buffer, State state, BufferQueue to) {
        boolean last;
        synchronized (this) {
            held--;
            buffer.state = state;
            to.add(buffer);
            account();
            notifyAll();
            last = mayFree();
        }
        if (last) {
            free();
        }
    }

    /** Takes buffers back whose streams have passed, whatever their order. */
    private void reap() {
        for (int i = passing.size(); i > 0; i--) {
            BatchBuffer buffer = passing.remove();
            if (buffer.hasPassed()) {
                buffer.state = State.FREE;
                free.add(buffer);
            } else {
                passing.add(buffer);
            }
        }
        account();
    }

    /** {@return true while a batch is left for the consumer} */
    synchronized boolean hasNext() {
        return !closed && (delivered < end() || failure != null);
    }

    synchronized LoaderState state() {
        return state(delivered);
    }

    LoaderState state(long position) {
        return states.apply(position);
    }

    synchronized long recordsLeft() {
        return end() - delivered;
    }

    private long end() {
        return planner.itinerary().end();
    }

    RecordSource source() {
        return planner.source();
    }

    RecordMemory memory() {
        return memory;
    }

    /** Drops takers that timed out, and records which side is waiting: the consumer for data, or the readers for a buffer. */
    private void account() {
        waiting.removeIf(BatchTaker::isClaimed);
        boolean reading = flight.first(BatchBuffer::isIncomplete) != null;
        counters.account(!waiting.isEmpty(), mayPlan() && free.isEmpty() && !reading, stalls());
    }

    synchronized LoaderReport report() {
        account();
        return counters.report(memory.bytes());
    }

    // ---- the end

    /** Ends delivery. Waits for the reads in flight; the memory goes when the last batch is closed. */
    void close() {
        boolean interrupted = false;
        boolean last;
        synchronized (this) {
            closed = true;
            stopReading();
            notifyAll();
            while (readers > 0) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            account();
            last = mayFree();
        }
        deliver();
        if (last) {
            free();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean mayFree() {
        boolean may = closed && readers == 0 && held == 0 && !freed;
        freed |= may;
        return may;
    }

    private void free() {
        List<Runnable> all = new ArrayList<>();
        for (BufferQueue queue : List.of(passing, free, flight)) {
            while (!queue.isEmpty()) {
                all.add(queue.remove()::awaitPassed);
            }
        }
        all.add(memory::close);
        Closing.all(all, Runnable::run);
    }
}
