package io.gds4j.testkit;

import io.gds4j.internal.lifetime.ThreadState;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A stream of a {@link FakeGpu}, which stands for a {@code CUstream}. It runs work, reads and writes in their order, as late as CUDA
 * allows: only when the program waits for the stream, for an event, or for another stream that depends on it.
 *
 * <pre>{@code
 * try (FakeStream stream = gpu.newStream();
 *         CuFileStream ordered = driver.stream(stream.address(), Set.of())) {
 *     ordered.read(handle, memory, cells);
 *     stream.enqueue(() -> kernel(gpu.segment(memory.range())));   // stands for a kernel
 *     stream.synchronize();                                        // reads, then runs the kernel
 * }
 * }</pre>
 *
 * <p>
 * A program that reads a result or reuses a cell too early therefore sees wrong bytes, every time. Closing a file, memory or the
 * driver runs the operations that use it, as it waits for them on a GPU.
 *
 * <p>
 * Thread-safe. Work runs on the thread that waits; it must not wait for its own stream.
 *
 * @since 0.1
 */
public final class FakeStream implements AutoCloseable {
    /** Address of the default stream. */
    static final long DEFAULT = 0;

    /** Unfinished operations that a stream holds; the call that queues the next one waits for room. */
    private static final int MAX_OPERATIONS = 128;

    private final long address;
    private final FakeSchedule schedule;
    private final Deque<Work> queue = new ArrayDeque<>();
    private long queued;
    private long done;
    private boolean closed;
    private @Nullable Failed failure;

    /** Work, and the objects that the queueing call used: an operation uses them until it is over. */
    private record Work(Runnable task, long[] uses) {
    }

    /** The first failure that no wait has reported. */
    private record Failed(Throwable cause, String problem) {
    }

    FakeStream(long address, FakeSchedule schedule) {
        this.address = address;
        this.schedule = schedule;
    }

    /** {@return address to pass to {@link io.gds4j.CuFileDriver#stream} in place of a raw {@code CUstream}} */
    public long address() {
        return address;
    }

    /**
     * Queues work, such as a stand-in of a kernel or of a host function.
     *
     * @param work runs after all work queued before
     * @throws IllegalStateException after close
     */
    public synchronized void enqueue(Runnable work) {
        Objects.requireNonNull(work, "work");
        if (closed) {
            throw new IllegalStateException("the stream is closed");
        }
        queue.add(new Work(work, ThreadState.current().uses()));
        queued++;
    }

    /** Queues an operation. If the stream is full, runs its oldest work first. */
    void enqueue(FakeOperation operation) {
        if (!schedule.isRunningHere()) {
            schedule.run(this, () -> operations() < MAX_OPERATIONS);
        }
        enqueue((Runnable) operation);
    }

    private synchronized long operations() {
        return queue.stream().filter(work -> work.task() instanceof FakeOperation).count();
    }

    /**
     * Marks this place of the stream, like {@code cuEventRecord}.
     *
     * @return the event: it is done when all work queued so far is
     */
    public synchronized FakeEvent record() {
        return new FakeEvent(this, queued);
    }

    /**
     * Makes later work of this stream wait for an event, like {@code cuStreamWaitEvent}.
     *
     * @param event event of another stream of the same GPU
     * @throws IllegalStateException after close
     */
    public void waitFor(FakeEvent event) {
        Objects.requireNonNull(event, "event");
        enqueue(event::complete);
    }

    /**
     * Runs all work queued before, like {@code cuStreamSynchronize}.
     *
     * @throws IllegalStateException if work failed; the cause tells how
     * @throws io.gds4j.error.CuFileException IO_NOT_SUPPORTED (EBUSY) from work of this stream
     */
    public void synchronize() {
        record().synchronize();
    }

    /**
     * Tells whether all work is done, like {@code cuStreamQuery}. Each call runs one piece of work, so that a program that polls
     * ends.
     *
     * @return true if there is no work
     */
    public boolean isIdle() {
        if (isEmpty()) {
            return true;
        }
        schedule.poll(this);
        return isEmpty();
    }

    /**
     * Runs the queued work and ends the stream; the default stream stays open. Idempotent.
     *
     * @throws io.gds4j.error.CuFileException IO_NOT_SUPPORTED (EBUSY) from work of this stream
     */
    @Override
    public void close() {
        do {
            schedule.run(this, () -> false);
        } while (!closeIfEmpty());
        if (address != DEFAULT) {
            schedule.remove(this);
        }
    }

    /** Refuses later work unless another thread has queued work meanwhile; {@return whether there was none} */
    private synchronized boolean closeIfEmpty() {
        closed |= queue.isEmpty() && address != DEFAULT;
        return queue.isEmpty();
    }

    synchronized boolean isEmpty() {
        return queue.isEmpty();
    }

    synchronized boolean hasPassed(long number) {
        return done >= number;
    }

    void runTo(long number) {
        if (!hasPassed(number)) {
            schedule.run(this, () -> hasPassed(number));
        }
    }

    /** {@return the first work, which stays queued until it is done; null if there is none} */
    synchronized @Nullable Runnable first() {
        Work first = queue.peek();
        return first == null ? null : first.task();
    }

    synchronized void firstIsDone() {
        queue.remove();
        done++;
    }

    /** {@return whether an operation that matches is unfinished} */
    synchronized boolean has(Predicate<FakeOperation> operations) {
        return queue.stream().anyMatch(
                work -> work.task() instanceof FakeOperation operation && operations.test(operation));
    }

    /** {@return whether work behind the running one uses the object with this number} */
    synchronized boolean isUsedLater(long number) {
        Iterator<Work> later = queue.iterator();
        later.next();
        while (later.hasNext()) {
            for (long used : later.next().uses()) {
                if (used == number) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Remembers a failure for the next wait; reported at the end of the test if there is none. */
    synchronized void failed(Throwable cause) {
        if (failure == null) {
            failure = new Failed(cause, "work of %s failed, and no wait has reported it: %s".formatted(this, cause));
            schedule.misuse().add(failure.problem());
        }
    }

    synchronized void throwFailure() {
        Failed seen = failure;
        if (seen != null) {
            failure = null;
            schedule.misuse().remove(seen.problem());
            throw new IllegalStateException("work of %s failed: %s".formatted(this, seen.cause()), seen.cause());
        }
    }

    @Override
    public String toString() {
        return "FakeStream[0x%x]".formatted(address);
    }
}
