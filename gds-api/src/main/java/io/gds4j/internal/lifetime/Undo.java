package io.gds4j.internal.lifetime;

/**
 * Takes back a step if the work that builds on it fails, whatever that work throws. A call allocates: requests, and holds that must
 * outlive an exhausted heap, use {@code try} and {@code finally}.
 */
public final class Undo {
    /**
     * Work with a result.
     *
     * @param <T> the result
     * @param <E> what it may throw besides unchecked exceptions
     */
    public interface Work<T, E extends Exception> {
        /** Does the work. */
        T run() throws E;
    }

    /**
     * Work without a result.
     *
     * @param <E> what it may throw besides unchecked exceptions
     */
    public interface Step<E extends Exception> {
        /** Does the work. */
        void run() throws E;
    }

    private Undo() {
    }

    /** Returns the result of the work; if the work fails, undoes first. A failure of the undoing is attached to that of the work. */
    public static <T, E extends Exception> T ifFails(Step<?> undo, Work<T, E> work) throws E {
        try {
            return work.run();
        } catch (Throwable e) {
            try {
                undo.run();
            } catch (Throwable second) {
                if (second != e) {
                    e.addSuppressed(second);
                }
            }
            throw e;
        }
    }

    /** As {@link #ifFails(Step, Work)}, for work without a result. */
    public static <E extends Exception> void ifFails(Step<?> undo, Step<E> work) throws E {
        Undo.<Boolean, E>ifFails(undo, () -> {
            work.run();
            return true;
        });
    }
}
