package io.gds4j.internal.lifetime;

import java.lang.foreign.Arena;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits that an interrupt does not end: the thread's interrupt flag is set again after the wait. */
public final class Uninterruptibly {
    /** A wait that returns when it is over, and that may be repeated after an interrupt. */
    @FunctionalInterface
    public interface Wait {
        /** Waits; throws if the thread is interrupted first. */
        void await() throws InterruptedException;
    }

    /** A wait with a result. */
    private interface Attempt<T, E extends Exception> {
        T run() throws InterruptedException, E;
    }

    /** Time between two attempts to close an arena. */
    private static final long POLL_NANOS = 100_000;

    private Uninterruptibly() {
    }

    /** Waits until {@code wait}, such as {@code latch::await}, returns; repeats it after each interrupt. */
    public static void await(Wait wait) {
        repeat(() -> {
            wait.await();
            return true;
        });
    }

    /**
     * Parks while a condition holds. The thread that ends the condition unparks this one.
     *
     * @param blocker the object that this thread waits for
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

    /** Closes a shared arena. Waits while a channel or a native call uses its memory: an arena refuses to close then. */
    public static void close(Arena arena) {
        boolean interrupted = false;
        while (arena.scope().isAlive()) {
            try {
                arena.close();
            } catch (IllegalStateException e) {
                LockSupport.parkNanos(arena, POLL_NANOS);
                interrupted |= Thread.interrupted();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits until a thread has ended. */
    public static void join(Thread thread) {
        await(thread::join);
    }

    /** Waits for a result. */
    public static <T> T get(Future<T> future) throws ExecutionException {
        return repeat(future::get);
    }

    private static <T, E extends Exception> T repeat(Attempt<T, E> attempt) throws E {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return attempt.run();
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
