package io.gds4j.engine.lifecycle;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.time.Duration;

/**
 * What a backend does when the JVM exits, for so long at most: a lock that somebody keeps, or a call of a driver that does not
 * return, must not hold the exit up.
 */
public final class ExitTask {
    /** More than backends wait for what is in flight, and less than who waits for the process has patience. */
    private static final Duration LIMIT = Duration.ofSeconds(7);

    private final Thread hook;

    private ExitTask(Thread hook) {
        this.hook = hook;
    }

    /**
     * From now on the task runs when the JVM exits, beside the others.
     *
     * @param function what the caller is asked for
     * @param name of its thread
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

    /** It need not run any more. */
    public void cancel() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM exits already: the task runs, and finds nothing to do.
        }
    }

    /** The JVM does not wait for daemons. */
    private static void runFor(Duration limit, String name, Runnable task) {
        Thread worker = Thread.ofPlatform().daemon().name(name + "-task").start(task);
        try {
            worker.join(limit);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
