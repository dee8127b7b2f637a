package io.gds4j.spi;

/**
 * Whether a backend can serve on this machine, and if not, why and what would help.
 *
 * @since 0.1
 */
public sealed interface Availability {
    /** It can. */
    record Available() implements Availability {
    }

    /**
     * It cannot.
     *
     * @param reason what is missing
     * @param remedy what a person could do about it
     */
    record Unavailable(String reason, String remedy) implements Availability {
    }
}
