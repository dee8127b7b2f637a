package io.gds4j.tools.terminal;

/** Whether a signal is ending the process. */
public final class ShutdownState {
    private ShutdownState() {
    }

    /** True once the JVM runs its shutdown hooks: failures after that are consequences, not causes. */
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
