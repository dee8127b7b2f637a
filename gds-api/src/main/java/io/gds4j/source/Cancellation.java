package io.gds4j.source;

/**
 * Tells a source whether the bytes that it reads or writes are still needed. Thread-safe.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface Cancellation {
    /** A request that never ends early. */
    Cancellation NEVER = new Cancellation() { // linking a lambda would take a program's first request a millisecond
        @Override
        public boolean isCancelled() {
            return false;
        }
    };

    /**
     * Returns whether the request has ended, because another part of it failed or its caller was interrupted. A source that
     * waits should ask a few times a second, and then throw an {@link InterruptedException}.
     *
     * @return true once the bytes are not needed; stays true
     */
    boolean isCancelled();
}
