package io.gds4j.remote;

import java.util.Map;
import java.util.function.Supplier;

/**
 * Gets access tokens by a cloud's own library. {@link java.util.ServiceLoader} finds it; the artifacts {@code gds-gcs} and
 * {@code gds-azure} have one.
 *
 * @since 0.1
 */
public interface AccessTokenProvider {
    /** {@return the scheme of the URLs that its tokens are for, such as {@code gs}} */
    String scheme();

    /**
     * Opens the credentials that the environment names. Asks no metadata service of a machine or container.
     *
     * @param variables environment variables
     * @return asked for a token at each request; thread-safe, and keeps a token until shortly before it expires. Fails with a CuFileException
     *         (IO_ERROR, EACCES) in one line, without secrets, if there is none
     */
    Supplier<String> open(Map<String, String> variables);
}
