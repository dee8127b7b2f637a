package io.gds4j;

import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.lifetime.Uninterruptibly;
import java.lang.System.Logger.Level;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A stream without a GPU. A thread of its own runs the program's work and stream-ordered reads and writes one after the other.
 * Use it to run or test a program for CUDA streams on any machine.
 *
 * <pre>{@code
 * try (HostStream stream = HostStream.create();
 *         CuFileStream ordered = driver.stream(stream.address(), Set.of())) {
 *     stream.enqueue(() -> cells.size().set(JAVA_LONG, 0, 4096));   // seen by the read
 *     ordered.read(handle, memory, cells);
 *     stream.enqueue(() -> use(memory));                            // sees what was read
 *     stream.synchronize();
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe. If work throws, the stream logs it and continues. Work must not wait for later work: it cannot close an object
 * that a later operation of the stream uses (EBUSY).
 *
 * @since 0.1
 */
@Experimental
public final class HostStream implements AutoCloseable {
    private static final ConcurrentMap<Long, HostStream> OPEN = new ConcurrentHashMap<>();

    /** Next address; negative, because no address of a CUDA stream is. */
    private static final AtomicLong NEXT = new AtomicLong(Long.MIN_VALUE);

    private final long address = NEXT.getAndIncrement();
    private final LinkedBlockingQueue<Work> queue = new LinkedBlockingQueue<>();
    private final Thread thread;
    private boolean closed;

    /** Work, and the objects that the queueing call used: a stream operation uses them until it is over. */
    private record Work(Runnable task, long[] uses) {
    }

    private HostStream(ThreadFactory threads) {
        this.thread = threads.newThread(this::serve);
    }

    /** {@return a new stream} */
    public static HostStream create() {
        return create(Thread.ofPlatform().daemon().name("gds4j-host-stream").factory());
    }

    static HostStream create(ThreadFactory threads) {
        HostStream stream = new HostStream(threads);
        OPEN.put(stream.address, stream);
        return Undo.ifFails(() -> OPEN.remove(stream.address), () -> {
            stream.thread.start();
            return stream;
        });
    }

    /**
     * Finds the open host stream with this address; for backends.
     *
     * @param address address that a program passed as a {@code CUstream}
     * @return the stream; empty if no open host stream has this address
     */
    public static Optional<HostStream> find(long address) {
        return Optional.ofNullable(OPEN.get(address));
    }

    /** {@return address to pass to {@link CuFileDriver#stream} in place of a raw {@code CUstream}} */
    public long address() {
        return address;
    }

    /**
     * Queues work and returns at once.
     *
     * @param work runs after all work queued before
     * @throws IllegalStateException after close
     */
    public synchronized void enqueue(Runnable work) {
        if (closed) {
            throw new IllegalStateException("the stream is closed");
        }
        queue.add(new Work(Objects.requireNonNull(work, "work"), ThreadState.current().uses()));
    }

    /**
     * Waits until all work queued before is done, like {@code cuStreamSynchronize}.
     *
     * @throws IllegalStateException after close
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    public void synchronize() throws InterruptedException {
        CountDownLatch passed = new CountDownLatch(1);
        enqueue(passed::countDown);
        passed.await();
    }

    /** Runs the queued work, then ends the stream and waits for it; from its own work it does not wait. Idempotent. */
    @Override
    public void close() {
        synchronized (this) {
            if (!closed) {
                closed = true;
                queue.add(new Work(() -> OPEN.remove(address), new long[0]));
            }
        }
        if (thread != Thread.currentThread()) {
            Uninterruptibly.join(thread);
        }
    }

    private void serve() {
        ThreadState.current().setUsedLater(this::isUsedLater);
        while (OPEN.get(address) == this) {
            try {
                queue.take().task().run();
            } catch (InterruptedException e) {
                // Only work of the stream can interrupt this thread. The interrupt ends with that work.
                log(Level.DEBUG, "work of a host stream left an interrupt behind", e);
            } catch (Throwable e) {
                // Includes undeclared checked exceptions, which other JVM languages throw.
                log(Level.ERROR, "work of a host stream failed", e);
            }
        }
    }

    /** {@return whether work of this stream calls} */
    boolean isCurrentThread() {
        return thread == Thread.currentThread();
    }

    /** True if queued work uses the object with this number: then running work must not wait for that object. */
    private boolean isUsedLater(long number) {
        for (Work work : queue) {
            for (long used : work.uses()) {
                if (used == number) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Logs without ever throwing: logging allocates and runs handlers of the program, which must not end the stream. */
    private static void log(Level level, String message, Throwable cause) {
        try {
            System.getLogger("io.gds4j").log(level, message, cause);
        } catch (RuntimeException | Error e) {
            // The stream continues: the next work may find more memory.
        }
    }

    @Override
    public String toString() {
        return "HostStream[0x%x]".formatted(address);
    }
}
