package io.gds4j.loader.internal;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.internal.text.InertText;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Daemon threads that take numbered work items in order until none is left, one fails, or {@link #stop} is called. An
 * instance runs once.
 */
public final class Workers {
    /** The state of one thread. */
    public interface Worker extends AutoCloseable {
        /** Does the work item of this number. */
        void work(int number) throws Exception;

        @Override
        default void close() {
        }
    }

    private final ThreadFactory factory;
    private final int items;
    private final Supplier<? extends Worker> worker;
    private final CountDownLatch ended;
    private final AtomicInteger next = new AtomicInteger();
    private final List<Thread> threads = new ArrayList<>();
    private @Nullable Throwable failure;
    private volatile boolean stopped;

    /**
     * @param prefix prefix of the threads' names
     * @param threads number of threads; fewer start if there are fewer items
     * @param items number of work items
     * @param worker called once on each thread
     */
    public Workers(String prefix, int threads, int items, Supplier<? extends Worker> worker) {
        this(Thread.ofPlatform().name(prefix, 0).daemon().factory(), threads, items, worker);
    }

    /** With a factory, for tests. */
    Workers(ThreadFactory factory, int threads, int items, Supplier<? extends Worker> worker) {
        this.factory = factory;
        this.items = items;
        this.worker = worker;
        this.ended = new CountDownLatch(Math.min(threads, items));
    }

    /**
     * Starts the threads and waits until all of them have ended, even after an interrupt or a failed start. If it returns
     * false, {@link #throwFailure} throws the failure, if any.
     *
     * @return true if all items are done; false after a failure or {@link #stop}
     * @throws InterruptedException if the calling thread was interrupted; its flag is cleared
     */
    public boolean run() throws InterruptedException {
        start();
        try {
            ended.await();
        } catch (InterruptedException e) {
            stop();
            awaitUninterruptibly(ended);
            throw e;
        }
        return !stopped;
    }

    /**
     * Throws the first failure as it is, with later ones attached; returns if there is none.
     *
     * @param <E> the checked exception that work items throw. Code of a program, such as a listener, may throw others
     *        unchecked, as other JVM languages allow; they pass, too
     */
    @SuppressWarnings("unchecked")
    public synchronized <E extends Throwable> void throwFailure() throws E {
        if (failure != null) {
            throw (E) failure;
        }
    }

    /**
     * Runs as {@link #run()} and throws what went wrong, under the name of the public function.
     *
     * @throws CuFileException IO_ERROR if a file cannot be read; CuFileInterruptedException if the calling thread was
     *         interrupted, whose flag stays set
     */
    public void run(String function) {
        try {
            run();
            this.<IOException>throwFailure();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw interrupted(function);
        } catch (IOException e) {
            throw CuFileException.builder(function)
                    .error(CuFileError.IO_ERROR)
                    .errno(Errno.EIO)
                    .detail("a file cannot be read: "
                            + InertText.line(String.valueOf(e.getMessage()), 200))
                    .cause(e)
                    .build();
        }
    }

    /** Returns the exception for an interrupt of the thread that called the function. */
    public static CuFileException interrupted(String function) {
        return CuFileException.builder(function)
                .error(CuFileError.IO_ERROR)
                .errno(Errno.EINTR)
                .detail("interrupted")
                .buildInterrupted();
    }

    private synchronized void start() {
        for (long i = ended.getCount(); i > 0; i--) {
            try {
                Thread thread = factory.newThread(this::takeItems);
                threads.add(thread);
                thread.start();
            } catch (Throwable e) {
                // out of threads: run() waits for the started ones, so the others are counted down here
                fail(e);
                for (; i > 0; i--) {
                    ended.countDown();
                }
            }
        }
    }

    private void takeItems() {
        try (Worker mine = worker.get()) {
            for (int i = next.getAndIncrement(); i < items && !stopped; i = next.getAndIncrement()) {
                mine.work(i);
            }
        } catch (Throwable e) {
            fail(e);
        } finally {
            ended.countDown();
        }
    }

    private synchronized void fail(Throwable e) {
        // a worker that stop() interrupted reports the interrupt, which is no failure of its own
        boolean interrupted = stopped && (e instanceof CuFileInterruptedException || e instanceof InterruptedException);
        if (!interrupted && failure == null) {
            failure = e;
        } else if (!interrupted && failure != e) {
            failure.addSuppressed(e);
        }
        stop();
    }

    /** Interrupts the threads and returns at once; each thread ends when its current item does. */
    public synchronized void stop() {
        stopped = true;
        for (Thread thread : threads) {
            if (thread != Thread.currentThread()) {
                thread.interrupt();
            }
        }
    }

    /** Returns true on one of the threads. */
    public synchronized boolean isOwnThread() {
        return threads.contains(Thread.currentThread());
    }

    /** Waits for the latch; an interrupt is restored afterwards. */
    public static void awaitUninterruptibly(CountDownLatch latch) {
        Uninterruptibly.await(latch::await);
    }

    /** Returns the number of threads for work that keeps a core busy. */
    public static int cores() {
        return Runtime.getRuntime().availableProcessors();
    }
}
