package io.gds4j.tools.terminal;

/** Detects that a signal is ending the process. */
public final class ShutdownState {
    private ShutdownState() {
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
