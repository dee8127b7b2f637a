package io.gds4j;

import io.gds4j.internal.lifetime.InFlight;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.IoMemory;
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
 * Runs {@link CuFileHandle#readAsync} and {@link CuFileHandle#writeAsync} on platform threads of its own, which start on demand
 * and end when they are idle. On a virtual thread a blocking system call would hold the carrier.
 */
final class AsyncCalls {
    /** Enough requests in flight that a disk is busy, whatever the processors. */
    private static final int THREADS = 16;

    private static final long IDLE_SECONDS = 10;

    private static final long RETRY_NANOS = 1_000_000;

    private final ThreadPoolExecutor threads;

    /** Calls that use their file and memory, or will. */
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
     * A call for {@link #start}; nothing is held yet.
     *
     * @param transfer moves the bytes
     */
    Call call(CuFileHandle handle, IoMemory memory, LongSupplier transfer) {
        return new Call(handle, memory, transfer);
    }

    /**
     * Starts a call for which the caller holds file and memory; the call gives both back. If this method throws, the call never
     * runs, and the caller gives them back.
     *
     * @param function its name, for a failure
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
            // No thread can start: the executor may have queued the call all the same, and another thread have taken it.
            withdrawn = call.take();
            if (withdrawn) {
                throw e;
            }
        } finally {
            if (withdrawn) {
                calls.exit();
            }
        }
    }

    /** Waits until a call, which may have been cancelled, has given its memory back. */
    static void awaitEnd(CompletableFuture<Long> started) {
        if (started instanceof Call call) {
            Uninterruptibly.await(call.over::await);
        }
    }

    /**
     * Waits until all calls have given their files and memory back. Callbacks may still run, and one of them may be the caller:
     * so this thread runs queued calls itself, in case all threads of the pool wait in callbacks.
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

    /** Gives file and memory back before its result can be seen, except that cancelling it does not wait for that. */
    final class Call extends CompletableFuture<Long> implements Runnable {
        private final CuFileHandle handle;
        private final IoMemory memory;
        private final LongSupplier transfer;
        private final CountDownLatch over = new CountDownLatch(1);
        private final AtomicBoolean taken = new AtomicBoolean();
        private @Nullable Thread runner;
        private boolean cancelled;

        private Call(CuFileHandle handle, IoMemory memory, LongSupplier transfer) {
            this.handle = handle;
            this.memory = memory;
            this.transfer = transfer;
        }

        /** True once, for the thread that runs or withdraws it. */
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
                try {
                    handle.letGo(memory);
                } finally {
                    over.countDown();
                    calls.exit();
                }
            }
            publish(moved, failure);
        }

        /** A future that never completes would hang those who wait for it: tries again while the heap is exhausted. */
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

        /** An interrupt that came for this call ends with it. */
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
