package io.gds4j.internal.lifetime;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits that an interrupt does not end: the thread's interrupt flag is set again after the wait. */
public final class Uninterruptibly {
    /** A wait that returns when it is over, and that may be started again after an interrupt. */
    @FunctionalInterface
    public interface Wait {
        /**
         * Waits.
         *
         * @throws InterruptedException if the thread is interrupted first
         */
        void await() throws InterruptedException;
    }

    private Uninterruptibly() {
    }

    /**
     * Waits until {@code wait} returns; starts it again after each interrupt.
     *
     * @param wait for example {@code latch::await}
     */
    public static void await(Wait wait) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    wait.await();
                    return;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Parks as long as a condition holds; for a thread that others unpark once it does not.
     *
     * @param blocker the object responsible
     * @param condition looked at before each wait
     */
    public static void parkWhile(Object blocker, BooleanSupplier condition) {
        boolean interrupted = false;
        while (condition.getAsBoolean()) {
            LockSupport.park(blocker);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Waits until a thread has ended.
     *
     * @param thread started before
     */
    public static void join(Thread thread) {
        await(thread::join);
    }

    /**
     * Waits for a result.
     *
     * @param <T> the kind of result
     * @param future computes the result
     * @return the result
     * @throws ExecutionException if the computation failed
     */
    public static <T> T get(Future<T> future) throws ExecutionException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return future.get();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
