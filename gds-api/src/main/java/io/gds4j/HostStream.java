package io.gds4j;

import java.lang.System.Logger.Level;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
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
 * Thread-safe. Work that throws is logged, and the stream goes on.
 *
 * @since 0.1
 */
@Experimental
public final class HostStream implements AutoCloseable {
    private static final ConcurrentMap<Long, HostStream> OPEN = new ConcurrentHashMap<>();

    /** No address of a CUDA stream is negative. */
    private static final AtomicLong NEXT = new AtomicLong(Long.MIN_VALUE);

    private final long address = NEXT.getAndIncrement();
    private final LinkedBlockingQueue<Runnable> queue = new LinkedBlockingQueue<>();
    private final Thread thread = Thread.ofPlatform().daemon().name("gds4j-host-stream").unstarted(this::serve);
    private boolean closed;

    private HostStream() {
    }

    /** {@return a new stream} */
    public static HostStream create() {
        HostStream stream = new HostStream();
        OPEN.put(stream.address, stream);
        stream.thread.start();
        return stream;
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
        queue.add(work);
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
                queue.add(() -> OPEN.remove(address));
            }
        }
        boolean interrupted = false;
        while (thread != Thread.currentThread() && thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void serve() {
        while (OPEN.get(address) == this) {
            try {
                queue.take().run();
            } catch (InterruptedException e) {
                // Nobody interrupts this thread but work that interrupts itself: that ends with it.
                System.getLogger("io.gds4j").log(Level.DEBUG, "work of a host stream left an interrupt behind", e);
            } catch (RuntimeException | Error e) {
                System.getLogger("io.gds4j").log(Level.ERROR, "work of a host stream failed", e);
            }
        }
    }

    @Override
    public String toString() {
        return "HostStream[0x%x]".formatted(address);
    }
}
