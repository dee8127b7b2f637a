package io.gds4j.spi;

import io.gds4j.error.CuFileError;

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
     * @param error code of {@code CuFileDriver.open} where no backend can serve
     */
    record Unavailable(String reason, String remedy, CuFileError error) implements Availability {
        /**
         * Makes the usual answer, with DRIVER_NOT_INITIALIZED.
         *
         * @param reason as {@link #reason}
         * @param remedy as {@link #remedy}
         */
        public Unavailable(String reason, String remedy) {
            this(reason, remedy, CuFileError.DRIVER_NOT_INITIALIZED);
        }
    }
}
