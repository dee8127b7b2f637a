package io.gds4j.tools.terminal;

/** Detects that a signal is ending the process. */
public final class ShutdownState {
    private ShutdownState() {
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
