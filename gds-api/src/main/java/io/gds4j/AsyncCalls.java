package io.gds4j;

import io.gds4j.internal.lifetime.InFlight;
import io.gds4j.internal.lifetime.Uninterruptibly;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs {@link CuFileHandle#readAsync} and {@link CuFileHandle#writeAsync} on platform threads, which start on demand and end when
 * idle. On a virtual thread a blocking system call would hold the carrier. If the system starts no thread, the caller serves its call.
 */
final class AsyncCalls {
    /** Threads at most: enough requests in flight to keep a disk busy. */
    private static final int THREADS = 16;

    /** Time after which an idle thread ends. */
    private static final long IDLE_SECONDS = 10;

    /** Time between attempts to complete a future while the heap is exhausted. */
    private static final long RETRY_NANOS = 1_000_000;

    private final ThreadPoolExecutor threads;

    /** Calls that hold their file and memory. */
    private final InFlight calls = new InFlight();

    AsyncCalls() {
        this(Thread.ofPlatform().daemon().name("gds4j-async-", 0).factory());
    }

    AsyncCalls(ThreadFactory factory) {
        this.threads = new ThreadPoolExecutor(
                THREADS, THREADS, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), factory);
        threads.allowCoreThreadTimeOut(true);
    }

    /**
     * Creates a call for {@link #start}. It holds nothing yet.
     *
     * @param release releases file and memory
     * @param transfer moves the bytes
     */
    Call call(Runnable release, LongSupplier transfer) {
        return new Call(release, transfer);
    }

    /**
     * Starts a call. The caller holds file and memory, and the call releases both. If this method throws, the call never runs,
     * and the caller releases them.
     *
     * @param function C function, for messages
     */
    void start(Call call, String function) {
        if (!calls.enter()) {
            throw Session.closed(function);
        }
        boolean withdrawn = false;
        try {
            threads.execute(call);
        } catch (RejectedExecutionException e) {
            withdrawn = call.take();
            if (withdrawn) {
                throw Session.closed(function);
            }
        } catch (OutOfMemoryError e) {
            // No thread could start. The executor may have queued the call, and another thread may have taken it; else this one serves it.
            call.run();
        } finally {
            if (withdrawn) {
                calls.exit();
            }
        }
    }

    /** Has a call never run if no thread has begun it. */
    void withdraw(Call call) {
        if (call.take()) {
            threads.remove(call); // while all threads are busy, the queue would keep its memory
            call.released();
        }
    }

    /** Waits until a call has released its memory, even if it was cancelled. */
    static void awaitEnd(CompletableFuture<Long> started) {
        if (started instanceof Call call) {
            Uninterruptibly.await(call.released::await);
        }
    }

    /**
     * Waits until all calls have released their files and memory. Every pool thread may be inside a callback that waits for this
     * close, so this thread runs the queued calls. Callbacks may still run when it returns.
     */
    void close() {
        threads.shutdown();
        boolean interrupted = Thread.interrupted();
        try {
            Runnable queued = threads.getQueue().poll();
            while (queued != null) {
                queued.run();
                queued = threads.getQueue().poll();
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        calls.close();
    }

    /** Releases file and memory before its result is visible; only cancelling does not wait for that. */
    final class Call extends CompletableFuture<Long> implements Runnable {
        private final Runnable release;
        private final LongSupplier transfer;
        private final CountDownLatch released = new CountDownLatch(1);
        private final AtomicBoolean taken = new AtomicBoolean();
        private @Nullable Thread runner;
        private boolean cancelled;

        private Call(Runnable release, LongSupplier transfer) {
            this.release = release;
            this.transfer = transfer;
        }

        /** Returns true once: to the thread that runs or withdraws the call. */
        private boolean take() {
            return taken.compareAndSet(false, true);
        }

        @Override
        public void run() {
            if (!take()) {
                return;
            }
            long moved = 0;
            Throwable failure = null;
            try {
                if (begin()) {
                    moved = transfer.getAsLong();
                }
            } catch (Throwable e) {
                failure = e;
            } finally {
                end();
                released();
            }
            publish(moved, failure);
        }

        private void released() {
            try {
                release.run();
            } finally {
                released.countDown();
                calls.exit();
            }
        }

        /** Waits until a thread has ended the call. */
        void await() throws InterruptedException {
            released.await();
        }

        /** Completes the future. Tries again while the heap is exhausted, because its waiters would hang. */
        private void publish(long moved, @Nullable Throwable failure) {
            boolean published = false;
            while (!published) {
                try {
                    if (failure == null) {
                        complete(moved);
                    } else {
                        completeExceptionally(failure);
                    }
                    published = true;
                } catch (OutOfMemoryError e) {
                    LockSupport.parkNanos(RETRY_NANOS);
                }
            }
        }

        private synchronized boolean begin() {
            runner = cancelled ? null : Thread.currentThread();
            return !cancelled;
        }

        /** Clears an interrupt that was meant for this call. */
        private synchronized void end() {
            runner = null;
            if (cancelled) {
                Thread.interrupted();
            }
        }

        @Override
        public boolean cancel(boolean mayInterruptIfRunning) {
            boolean done = super.cancel(mayInterruptIfRunning);
            if (done) {
                stop();
            }
            return done;
        }

        private synchronized void stop() {
            cancelled = true;
            if (runner != null) {
                runner.interrupt();
            }
        }
    }
}
