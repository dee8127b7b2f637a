package io.gds4j.tools.convert;

/** Hooks that tidy up when a signal ends the process. */
final class ExitHooks {
    private ExitHooks() {
    }

    /** Returns false if the process ends already. */
    static boolean add(Thread hook) {
        try {
            Runtime.getRuntime().addShutdownHook(hook);
            return true;
        } catch (IllegalStateException e) {
            return false;
        }
    }

    static void remove(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The process is ending, and the hook runs.
        }
    }
}
