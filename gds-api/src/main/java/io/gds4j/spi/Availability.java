package io.gds4j.spi;

/**
 * Whether a backend can serve on this machine; if not, the reason and a remedy.
 *
 * @since 0.1
 */
public sealed interface Availability {
    /** The backend can serve. */
    record Available() implements Availability {
    }

    /**
     * The backend cannot serve.
     *
     * @param reason what is missing
     * @param remedy what the user can do about it
     */
    record Unavailable(String reason, String remedy) implements Availability {
    }
}
