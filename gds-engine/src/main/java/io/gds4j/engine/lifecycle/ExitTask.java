package io.gds4j.engine.lifecycle;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.time.Duration;

/**
 * The work of a backend when the JVM exits. It has a time limit: neither a lock that stays held nor a driver call that does not
 * return may hold up the exit.
 */
public final class ExitTask {
    /** Longer than backends wait for I/O in flight, and shorter than the patience of what started the process. */
    private static final Duration LIMIT = Duration.ofSeconds(7);

    private final Thread hook;

    private ExitTask(Thread hook) {
        this.hook = hook;
    }

    /**
     * Registers a task that runs when the JVM exits, in parallel with others.
     *
     * @param function the call that registers it, for messages
     * @param name name of its thread
     * @throws CuFileException DRIVER_CLOSING if the JVM exits already
     */
    public static ExitTask register(String function, String name, Runnable task) {
        return register(function, name, LIMIT, task);
    }

    static ExitTask register(String function, String name, Duration limit, Runnable task) {
        Thread hook = Thread.ofPlatform().name(name).unstarted(() -> runFor(limit, name, task));
        try {
            Runtime.getRuntime().addShutdownHook(hook);
        } catch (IllegalStateException e) {
            throw CuFileException.of(CuFileError.DRIVER_CLOSING, function, "the JVM is exiting");
        }
        return new ExitTask(hook);
    }

    /** Unregisters the task. */
    public void cancel() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM exits already: the task runs and finds nothing to do.
        }
    }

    /** Runs the task on a daemon thread, for which the JVM does not wait. */
    private static void runFor(Duration limit, String name, Runnable task) {
        Thread worker = Thread.ofPlatform().daemon().name(name + "-task").start(task);
        try {
            worker.join(limit);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
