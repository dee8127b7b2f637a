package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import java.net.URI;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Settings of S3 objects. Immutable.
 *
 * <pre>{@code
 * S3Options options = S3Options.fromEnvironment().withEndpoint(URI.create("http://minio:9000"));
 * Path model = S3Files.path(URI.create("s3://models/llama.safetensors"), options);
 * }</pre>
 *
 * @since 0.1
 */
public final class S3Options {
    /** Bytes of a part or block: S3 takes 5 MiB to 5 GiB, Azure up to 4000 MiB, and four of them are in memory. */
    static final int PART = 16 << 20;

    private final Optional<URI> endpoint;
    private final String region;
    private final boolean pathStyle;
    private final Supplier<S3Credentials> credentials;
    private final HttpOptions http;
    private final HttpOptions environment;
    private final int partBytes;

    /** Credentials that stay the same. */
    private record Fixed(S3Credentials keys) implements Supplier<S3Credentials> {
        @Override
        public S3Credentials get() {
            return keys;
        }
    }

    private S3Options(
            Optional<URI> endpoint, String region, boolean pathStyle, Supplier<S3Credentials> credentials,
            HttpOptions http,
            HttpOptions environment, int partBytes) {
        this.endpoint = endpoint;
        this.region = region;
        this.pathStyle = pathStyle;
        this.credentials = credentials;
        this.http = http.or(environment);
        this.environment = environment;
        this.partBytes = partBytes;
        if (endpoint.isPresent() && !ObjectName.isHttp(endpoint.get())) {
            throw CuFileException.invalid("S3Options", "the endpoint: " + ObjectName.notHttp(endpoint.get()));
        }
        if (!region.matches("[A-Za-z0-9-]{1,64}")) {
            throw CuFileException.invalid("S3Options", "the region has other characters than letters, digits and -");
        }
    }

    /** {@return http or https URL of a server other than AWS; empty for AWS's server of the region} */
    public Optional<URI> endpoint() {
        return endpoint;
    }

    /** {@return region of the buckets, which is part of the signature} */
    public String region() {
        return region;
    }

    /** {@return whether URLs have the bucket in the path instead of before the host; many servers other than AWS need that} */
    public boolean pathStyle() {
        return pathStyle;
    }

    /** {@return what is asked for credentials at each request; thread-safe, and keeps what it found} */
    public Supplier<S3Credentials> credentials() {
        return credentials;
    }

    /** {@return settings of the requests} */
    public HttpOptions http() {
        return http;
    }

    /** Returns the bytes of an upload's part, and of the largest upload that has none. */
    int partBytes() {
        return partBytes;
    }

    /**
     * Returns the settings that AWS's tools would use: {@code AWS_ENDPOINT_URL_S3} or {@code AWS_ENDPOINT_URL} or the profile's
     * {@code endpoint_url}, {@code AWS_REGION} or {@code AWS_DEFAULT_REGION} or the profile's, else us-east-1; credentials from the
     * environment, the profile, the metadata of the container and of the instance, in this order. Profiles that sign in elsewhere
     * need an {@link S3CredentialsProvider}. An endpoint means path style. Requests trust the certificates of {@code AWS_CA_BUNDLE} or
     * the profile's {@code ca_bundle}, unless {@link #withHttp} names others, and pay with
     * {@code AWS_REQUEST_PAYER=requester}.
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
            throw CuFileException.invalid(
                    "S3Options", "AWS_ENDPOINT_URL, or endpoint_url of the profile, is not an http or https URL");
        }
        return new S3Options(url, region, url.isPresent(), new CredentialChain(variables), HttpOptions.DEFAULTS,
                requests(variables, profile), PART);
    }

    /** Returns what the environment says of each request. */
    private static HttpOptions requests(Map<String, String> variables, S3Profile profile) {
        HttpOptions requests = HttpOptions.DEFAULTS;
        String payer = variables.getOrDefault("AWS_REQUEST_PAYER", "");
        if (!payer.isEmpty()) {
            if (!payer.equals("requester")) {
                throw CuFileException.invalid("S3Options", "AWS_REQUEST_PAYER has another value than requester");
            }
            requests = requests.withHeader("x-amz-request-payer", payer);
        }
        Optional<Path> bundle;
        try {
            bundle = S3Profile.file(variables, "AWS_CA_BUNDLE", profile.get("ca_bundle"));
        } catch (InvalidPathException e) {
            throw CuFileException.invalid("S3Options", "AWS_CA_BUNDLE, or ca_bundle of the profile, is no path");
        }
        return bundle.map(requests::withCertificates).orElse(requests);
    }

    private static String first(Map<String, String> variables, String one, String other) {
        String value = variables.getOrDefault(one, "");
        return value.isEmpty() ? variables.getOrDefault(other, "") : value;
    }

    /**
     * Returns a copy with another server. The bucket then stands in the path of URLs, unless {@link #withPathStyle} is called after it.
     *
     * @param url http or https URL of a server other than AWS
     * @return the copy
     * @throws CuFileException INVALID_VALUE if it is not
     */
    public S3Options withEndpoint(URI url) {
        return new S3Options(Optional.of(url), region, true, credentials, http, environment, partBytes);
    }

    /**
     * Returns a copy with another region.
     *
     * @param name letters, digits and -; us-east-1 if neither environment nor profile names one
     * @return the copy
     * @throws CuFileException INVALID_VALUE for other characters
     */
    public S3Options withRegion(String name) {
        return new S3Options(endpoint, name, pathStyle, credentials, http, environment, partBytes);
    }

    /**
     * Returns a copy with another place of the bucket in URLs.
     *
     * @param inPath true for the path, false for the host
     * @return the copy
     */
    public S3Options withPathStyle(boolean inPath) {
        return new S3Options(endpoint, region, inPath, credentials, http, environment, partBytes);
    }

    /**
     * Returns a copy with other credentials.
     *
     * @param keys the credentials
     * @return the copy
     */
    public S3Options withCredentials(S3Credentials keys) {
        return withCredentials(new Fixed(Objects.requireNonNull(keys, "keys")));
    }

    /**
     * Returns a copy that asks for credentials at each request.
     *
     * @param keys thread-safe; keeps what it found
     * @return the copy
     */
    public S3Options withCredentials(Supplier<S3Credentials> keys) {
        return new S3Options(endpoint, region, pathStyle, Objects.requireNonNull(keys, "keys"), http, environment,
                partBytes);
    }

    /**
     * Returns a copy with other settings of requests.
     *
     * @param options the settings
     * @return the copy
     */
    public S3Options withHttp(HttpOptions options) {
        return new S3Options(endpoint, region, pathStyle, credentials, Objects.requireNonNull(options, "options"),
                environment, partBytes);
    }

    /** Returns a copy with another size of parts, for servers of tests. */
    S3Options withPartBytes(int bytes) {
        return new S3Options(endpoint, region, pathStyle, credentials, http, environment, bytes);
    }

    /** Returns a text without credentials. */
    @Override
    public String toString() {
        return "S3Options[endpoint=%s, region=%s, pathStyle=%s, http=%s]"
                .formatted(endpoint.map(ObjectName::shown).orElse("AWS"), region, pathStyle, http);
    }
}
