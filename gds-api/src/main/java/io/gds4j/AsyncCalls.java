package io.gds4j;

import io.gds4j.memory.IoMemory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs {@link CuFileHandle#readAsync} and {@link CuFileHandle#writeAsync} on platform threads of its own, started when they are
 * first needed and gone when they have been idle. A blocking system call would hold a virtual thread's carrier: these threads
 * are there to be held.
 */
final class AsyncCalls {
    /** Enough requests in flight that a disk is busy, whatever the processors. */
    private static final int THREADS = 16;

    private static final long IDLE_SECONDS = 10;

    private final ThreadPoolExecutor threads;

    AsyncCalls() {
        this.threads = new ThreadPoolExecutor(
                THREADS,
                THREADS,
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                Thread.ofPlatform().daemon().name("gds4j-async-", 0).factory());
        threads.allowCoreThreadTimeOut(true);
    }

    /**
     * Starts a call that holds file and memory already, and gives them back.
     *
     * @param function its name, for a failure
     * @param transfer the call
     */
    CompletableFuture<Long> start(CuFileHandle handle, IoMemory memory, String function, LongSupplier transfer) {
        Call call = new Call(handle, memory, transfer);
        try {
            threads.execute(call::run);
            return call;
        } catch (RejectedExecutionException e) {
            handle.letGo(memory);
            throw Session.closed(function);
        }
    }

    /** Waits until a call, which may have been cancelled, has given its memory back. */
    static void awaitEnd(CompletableFuture<Long> started) {
        if (started instanceof Call call) {
            boolean interrupted = false;
            while (true) {
                try {
                    call.over.await();
                    break;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Waits for what has been started. */
    void close() {
        threads.shutdown();
        boolean interrupted = false;
        boolean ended = false;
        while (!ended) {
            try {
                ended = threads.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** File and memory are given back before the result can be seen; unless it is cancelled, which waits for nothing. */
    private static final class Call extends CompletableFuture<Long> {
        private final CuFileHandle handle;
        private final IoMemory memory;
        private final LongSupplier transfer;
        private final CountDownLatch over = new CountDownLatch(1);
        private @Nullable Thread runner;
        private boolean cancelled;

        Call(CuFileHandle handle, IoMemory memory, LongSupplier transfer) {
            this.handle = handle;
            this.memory = memory;
            this.transfer = transfer;
        }

        void run() {
            long moved = 0;
            Throwable failure = null;
            try {
                if (begin()) {
                    moved = transfer.getAsLong();
                }
            } catch (RuntimeException | Error e) {
                failure = e;
            } finally {
                end();
                handle.letGo(memory);
                over.countDown();
            }
            if (failure == null) {
                complete(moved);
            } else {
                completeExceptionally(failure);
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
