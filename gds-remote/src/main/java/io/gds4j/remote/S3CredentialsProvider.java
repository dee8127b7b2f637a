package io.gds4j.remote;

import java.util.Map;
import java.util.function.Supplier;

/**
 * Finds credentials in ways that gds-remote does not know itself: single sign-on, roles to assume, web identity,
 * {@code credential_process}. {@link java.util.ServiceLoader} finds it; the artifact {@code gds-aws} has one, which asks the AWS SDK.
 *
 * @since 0.1
 */
public interface S3CredentialsProvider {
    /**
     * Returns credentials of a profile or an environment.
     *
     * @param variables names and values of environment variables
     * @return asked for each request; thread-safe, and keeps what it found until it expires
     */
    Supplier<S3Credentials> open(Map<String, String> variables);
}
