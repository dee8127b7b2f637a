package io.gds4j.loader;

import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.internal.lifetime.Uninterruptibly;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Platform threads that take numbered work in order until none is left, one of them fails, or they are stopped. Used once.
 */
final class Workers {
    /** The state of one thread. */
    interface Worker extends AutoCloseable {
        /** Does the work of this number. */
        void work(int number) throws IOException;

        @Override
        default void close() {
        }
    }

    private final String prefix;
    private final int works;
    private final Supplier<? extends Worker> worker;
    private final CountDownLatch ended;
    private final AtomicInteger next = new AtomicInteger();
    private final List<Thread> threads = new ArrayList<>();
    private @Nullable Throwable failure;
    private volatile boolean stopped;

    /**
     * @param prefix what the threads' names begin with
     * @param worker called once on each thread
     */
    Workers(String prefix, int threads, int works, Supplier<? extends Worker> worker) {
        this.prefix = prefix;
        this.works = works;
        this.worker = worker;
        this.ended = new CountDownLatch(Math.min(threads, works));
    }

    /**
     * Starts the threads and waits until all of them have ended, whatever happens.
     *
     * @return false if they were stopped before the work was done
     * @throws InterruptedException if the calling thread was interrupted; its flag is cleared
     * @throws IOException the first failure, as are unchecked ones; further ones are attached to it
     */
    boolean run() throws InterruptedException, IOException {
        start();
        try {
            ended.await();
        } catch (InterruptedException e) {
            stop();
            awaitUninterruptibly(ended);
            throw e;
        }
        synchronized (this) {
            if (failure == null) {
                return !stopped;
            }
            switch (failure) {
                case IOException e -> throw e;
                case RuntimeException e -> throw e;
                case Error e -> throw e;
                default -> throw new AssertionError(failure);
            }
        }
    }

    private synchronized void start() {
        long count = ended.getCount();
        for (int i = 0; i < count; i++) {
            Thread thread = Thread.ofPlatform().name(prefix, i).daemon().unstarted(this::takeWork);
            threads.add(thread);
            thread.start();
        }
    }

    private void takeWork() {
        try (Worker mine = worker.get()) {
            for (int i = next.getAndIncrement(); i < works && !stopped; i = next.getAndIncrement()) {
                mine.work(i);
            }
        } catch (Throwable e) {
            fail(e);
        } finally {
            ended.countDown();
        }
    }

    private synchronized void fail(Throwable e) {
        // one that was told to stop says so by an exception of its own, which is no cause
        boolean told = stopped && e instanceof CuFileInterruptedException;
        if (!told && failure == null) {
            failure = e;
        } else if (!told && failure != e) {
            failure.addSuppressed(e);
        }
        stop();
    }

    /** Threads end after what they cannot leave; returns at once. */
    synchronized void stop() {
        stopped = true;
        for (Thread thread : threads) {
            if (thread != Thread.currentThread()) {
                thread.interrupt();
            }
        }
    }

    /** True on one of the threads. */
    synchronized boolean isOwnThread() {
        return threads.contains(Thread.currentThread());
    }

    static void awaitUninterruptibly(CountDownLatch latch) {
        Uninterruptibly.await(latch::await);
    }

    /** Threads for work that keeps a core busy. */
    static int cores() {
        return Runtime.getRuntime().availableProcessors();
    }
}
