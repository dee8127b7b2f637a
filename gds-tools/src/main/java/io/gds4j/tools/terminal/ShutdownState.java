package io.gds4j.tools.terminal;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Detects that a signal is ending the process, or that the process ends with its command. */
public final class ShutdownState {
    /** What the end of the process frees. Referred to here, because gds4j warns of what a program forgot to close. */
    private static final List<AutoCloseable> LEFT = new CopyOnWriteArrayList<>();

    private static volatile boolean announced;

    private ShutdownState() {
    }

    /** Announces that the process ends with the command that it runs now. */
    public static void announce() {
        announced = true;
    }

    /** Returns whether the process frees this, because the end was {@link #announce announced}; else the caller closes it. */
    public static boolean frees(AutoCloseable left) {
        return announced && LEFT.add(left);
    }

    /** Removes a shutdown hook. Returns false if the process is ending: then the hook runs, or has run. */
    public static boolean remove(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
            return true;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    /** True once the JVM runs its shutdown hooks. Failures after that point are effects of the shutdown. */
    public static boolean begun() {
        Thread probe = new Thread(() -> {
        });
        try {
            Runtime.getRuntime().addShutdownHook(probe);
            Runtime.getRuntime().removeShutdownHook(probe);
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }
}
