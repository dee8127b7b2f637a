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
 * S3Options options = S3Options.builder().endpoint(URI.create("http://minio:9000")).build();
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

    private S3Options(Builder builder) {
        endpoint = builder.endpoint;
        region = builder.region;
        pathStyle = builder.pathStyle.orElse(endpoint.isPresent());
        credentials = builder.credentials;
        environment = builder.environment;
        http = builder.http.or(environment);
        partBytes = builder.partBytes;
        if (endpoint.isPresent() && !ObjectName.isHttp(endpoint.get())) {
            throw CuFileException.invalid("S3Options", "the endpoint: " + ObjectName.notHttp(endpoint.get()));
        }
        if (!region.matches("[A-Za-z0-9-]{1,64}")) {
            throw CuFileException.invalid("S3Options", "the region has other characters than letters, digits and -");
        }
    }

    /** {@return a builder that begins with {@link #fromEnvironment()}} */
    public static Builder builder() {
        return fromEnvironment().toBuilder();
    }

    /** {@return a builder that begins with these settings} */
    public Builder toBuilder() {
        return new Builder(this);
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
     * the profile's {@code ca_bundle}, unless the options of {@link Builder#http} name others, and pay with
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
        Builder builder = new Builder(url, region, new CredentialChain(variables));
        builder.environment = requests(variables, profile);
        return builder.build();
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

    /** Returns a text without credentials. */
    @Override
    public String toString() {
        return "S3Options[endpoint=%s, region=%s, pathStyle=%s, http=%s]"
                .formatted(endpoint.map(ObjectName::shown).orElse("AWS"), region, pathStyle, http);
    }

    /**
     * Builds {@link S3Options}. Not thread-safe.
     *
     * @since 0.1
     */
    public static final class Builder {
        private Optional<URI> endpoint;
        private String region;
        private Optional<Boolean> pathStyle;
        private Supplier<S3Credentials> credentials;
        private HttpOptions http;
        private HttpOptions environment = HttpOptions.DEFAULTS;
        private int partBytes = PART;

        private Builder(Optional<URI> endpoint, String region, Supplier<S3Credentials> credentials) {
            this.endpoint = endpoint;
            this.region = region;
            this.credentials = credentials;
            pathStyle = Optional.empty();
            http = HttpOptions.DEFAULTS;
        }

        private Builder(S3Options options) {
            this(options.endpoint, options.region, options.credentials);
            pathStyle = Optional.of(options.pathStyle);
            http = options.http;
            environment = options.environment;
            partBytes = options.partBytes;
        }

        /** Sets the size of parts, for servers of tests. */
        Builder partBytes(int bytes) {
            partBytes = bytes;
            return this;
        }

        /**
         * Sets the server. The bucket then stands in the path of URLs, unless {@link #pathStyle} is called after it.
         *
         * @param url http or https URL of a server other than AWS
         * @return this builder
         */
        public Builder endpoint(URI url) {
            endpoint = Optional.of(url);
            pathStyle = Optional.empty();
            return this;
        }

        /**
         * Sets the region.
         *
         * @param name letters, digits and -; us-east-1 if neither environment nor profile names one
         * @return this builder
         */
        public Builder region(String name) {
            region = Objects.requireNonNull(name, "name");
            return this;
        }

        /**
         * Sets where URLs name the bucket.
         *
         * @param inPath true for the path, false for the host
         * @return this builder
         */
        public Builder pathStyle(boolean inPath) {
            pathStyle = Optional.of(inPath);
            return this;
        }

        /**
         * Sets the credentials.
         *
         * @param keys the credentials
         * @return this builder
         */
        public Builder credentials(S3Credentials keys) {
            Objects.requireNonNull(keys, "keys");
            return credentials(new Fixed(keys));
        }

        /**
         * Sets what is asked for credentials at each request.
         *
         * @param keys thread-safe; keeps what it found
         * @return this builder
         */
        public Builder credentials(Supplier<S3Credentials> keys) {
            credentials = Objects.requireNonNull(keys, "keys");
            return this;
        }

        /**
         * Sets the settings of requests.
         *
         * @param options the settings
         * @return this builder
         */
        public Builder http(HttpOptions options) {
            http = Objects.requireNonNull(options, "options");
            return this;
        }

        /**
         * Returns the settings.
         *
         * @return the settings
         * @throws CuFileException INVALID_VALUE for an endpoint that is no http or https URL, or a region of other characters
         */
        public S3Options build() {
            return new S3Options(this);
        }
    }
}
