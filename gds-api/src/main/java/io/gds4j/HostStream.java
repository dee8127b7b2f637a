package io.gds4j;

import io.gds4j.internal.lifetime.ThreadState;
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
 * A stream without a GPU: work of the program and stream-ordered reads and writes, one after the other. A program that is
 * written for CUDA streams runs on it unchanged, and can be tested on any machine.
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
 * Thread-safe. Work that throws is logged, and the stream goes on. Work must not wait for what is queued behind it: closing an
 * object that a later operation of the stream uses is refused there (EBUSY).
 *
 * @since 0.1
 */
@Experimental
public final class HostStream implements AutoCloseable {
    private static final ConcurrentMap<Long, HostStream> OPEN = new ConcurrentHashMap<>();

    /** No address of a CUDA stream is negative. */
    private static final AtomicLong NEXT = new AtomicLong(Long.MIN_VALUE);

    private final long address = NEXT.getAndIncrement();
    private final LinkedBlockingQueue<Work> queue = new LinkedBlockingQueue<>();
    private final Thread thread;
    private boolean closed;

    /** Work, and what the call that queued it was using: a stream operation uses the same until it is over. */
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
        boolean started = false;
        try {
            stream.thread.start();
            started = true;
            return stream;
        } finally {
            if (!started) {
                OPEN.remove(stream.address);
            }
        }
    }

    /**
     * The open host stream with this address; for backends.
     *
     * @param address what a program gave for a {@code CUstream}
     * @return the stream; empty if the address is that of a CUDA stream or of nothing
     */
    public static Optional<HostStream> find(long address) {
        return Optional.ofNullable(OPEN.get(address));
    }

    /** {@return what stands for the raw {@code CUstream}, for {@link CuFileDriver#stream}} */
    public long address() {
        return address;
    }

    /**
     * Queues work; returns at once.
     *
     * @param work what to do once all that was queued before is done
     * @throws IllegalStateException after close
     */
    public synchronized void enqueue(Runnable work) {
        if (closed) {
            throw new IllegalStateException("the stream is closed");
        }
        queue.add(new Work(Objects.requireNonNull(work, "work"), ThreadState.current().uses()));
    }

    /**
     * Waits until all that was queued before is done, as {@code cuStreamSynchronize}.
     *
     * @throws IllegalStateException after close
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    public void synchronize() throws InterruptedException {
        CountDownLatch passed = new CountDownLatch(1);
        enqueue(passed::countDown);
        passed.await();
    }

    /** Does what is queued and ends; idempotent. Does not wait when called from work of the stream itself. */
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
                // Only work interrupts this thread: that ends with the work.
                log(Level.DEBUG, "work of a host stream left an interrupt behind", e);
            } catch (Throwable e) {
                // Also checked exceptions, which Java code can throw undeclared and other JVM languages do.
                log(Level.ERROR, "work of a host stream failed", e);
            }
        }
    }

    /** True if work that is queued uses the object with this number; asked by work, which would wait for it. */
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

    /** Logging allocates and runs handlers of the program: whatever it throws does not end the stream. */
    private static void log(Level level, String message, Throwable cause) {
        try {
            System.getLogger("io.gds4j").log(level, message, cause);
        } catch (RuntimeException | Error e) {
            // The next work may find more memory.
        }
    }

    @Override
    public String toString() {
        return "HostStream[0x%x]".formatted(address);
    }
}
