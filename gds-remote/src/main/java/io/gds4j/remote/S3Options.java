package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.net.URI;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Settings of S3 objects. Immutable; each {@code with} method returns a copy.
 *
 * @param endpoint http or https URL of a server other than AWS; empty for AWS's server of the region
 * @param region region of the buckets, which is part of the signature
 * @param pathStyle whether the bucket stands in the path of URLs, as many servers other than AWS want, not before their host
 * @param credentials asked for each request; thread-safe, and keeps what it found
 * @param http settings of the requests
 * @since 0.1
 */
public record S3Options(
        Optional<URI> endpoint, String region, boolean pathStyle, Supplier<S3Credentials> credentials,
        HttpOptions http) {

    /** Checks the endpoint and the region. */
    public S3Options {
        Objects.requireNonNull(credentials, "credentials");
        Objects.requireNonNull(http, "http");
        if (endpoint.isPresent() && !ObjectName.isHttp(endpoint.get())) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE, "S3Options",
                    "the endpoint: " + ObjectName.notHttp(endpoint.get()));
        }
        if (!region.matches("[A-Za-z0-9-]{1,64}")) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE, "S3Options",
                    "the region has other characters than letters, digits and -");
        }
    }

    /**
     * Returns the settings that AWS's tools would use: {@code AWS_ENDPOINT_URL_S3} or {@code AWS_ENDPOINT_URL} or the profile's
     * {@code endpoint_url}, {@code AWS_REGION} or {@code AWS_DEFAULT_REGION} or the profile's, else us-east-1; credentials from the
     * environment, the profile, the metadata of the container and of the instance, in this order. Profiles that sign in elsewhere
     * need an {@link S3CredentialsProvider}. An endpoint means path style.
     *
     * @return the settings; credentials are looked for when the first request needs them
     * @throws CuFileException INVALID_VALUE if a variable is not valid
     */
    public static S3Options fromEnvironment() {
        return fromEnvironment(System.getenv());
    }

    /**
     * As {@link #fromEnvironment()}, with other variables.
     *
     * @param variables names and values of environment variables
     * @return the settings
     * @throws CuFileException INVALID_VALUE if a variable is not valid
     */
    public static S3Options fromEnvironment(Map<String, String> variables) {
        String endpoint = first(variables, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
        String region = first(variables, "AWS_REGION", "AWS_DEFAULT_REGION");
        S3Profile profile = S3Profile.of(variables);
        if (region.isEmpty()) {
            region = profile.get("region").isEmpty() ? "us-east-1" : profile.get("region");
        }
        if (endpoint.isEmpty()
                && !variables.getOrDefault("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").equalsIgnoreCase("true")) {
            endpoint = profile.get("endpoint_url");
        }
        Optional<URI> url;
        try {
            url = endpoint.isEmpty() ? Optional.empty() : Optional.of(URI.create(endpoint));
        } catch (IllegalArgumentException e) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE, "S3Options",
                    "AWS_ENDPOINT_URL, or endpoint_url of the profile, is not an http or https URL");
        }
        return new S3Options(url, region, url.isPresent(), new CredentialChain(variables), HttpOptions.DEFAULTS);
    }

    private static String first(Map<String, String> variables, String one, String other) {
        String value = variables.getOrDefault(one, "");
        return value.isEmpty() ? variables.getOrDefault(other, "") : value;
    }

    /**
     * Returns a copy for another server.
     *
     * @param url as {@link #endpoint}
     * @param inPath as {@link #pathStyle}
     * @return the copy
     */
    public S3Options withEndpoint(URI url, boolean inPath) {
        return new S3Options(Optional.of(url), region, inPath, credentials, http);
    }

    /**
     * Returns a copy for another region.
     *
     * @param name as {@link #region}
     * @return the copy
     */
    public S3Options withRegion(String name) {
        return new S3Options(endpoint, name, pathStyle, credentials, http);
    }

    /**
     * Returns a copy with other credentials.
     *
     * @param keys the credentials
     * @return the copy
     */
    public S3Options withCredentials(S3Credentials keys) {
        return new S3Options(endpoint, region, pathStyle, () -> keys, http);
    }

    /**
     * Returns a copy with other credentials.
     *
     * @param keys as {@link #credentials}
     * @return the copy
     */
    public S3Options withCredentials(Supplier<S3Credentials> keys) {
        return new S3Options(endpoint, region, pathStyle, keys, http);
    }

    /**
     * Returns a copy with other settings of requests.
     *
     * @param options as {@link #http}
     * @return the copy
     */
    public S3Options withHttp(HttpOptions options) {
        return new S3Options(endpoint, region, pathStyle, credentials, options);
    }

    /** Returns a text without credentials. */
    @Override
    public String toString() {
        return "S3Options[endpoint=%s, region=%s, pathStyle=%s, http=%s]"
                .formatted(endpoint.map(ObjectName::shown).orElse("AWS"), region, pathStyle, http);
    }
}
