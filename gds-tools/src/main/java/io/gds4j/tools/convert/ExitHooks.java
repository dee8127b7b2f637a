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

    /** Returns false if the process ends already, and the hook runs. */
    static boolean remove(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
            return true;
        } catch (IllegalStateException e) {
            return false;
        }
    }
}
