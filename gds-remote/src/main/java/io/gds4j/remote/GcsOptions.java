package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * Settings of Google Cloud Storage. Immutable; each {@code with} method returns a copy.
 *
 * <pre>{@code
 * GcsOptions options = GcsOptions.fromEnvironment().withTokens(() -> token);
 * Path model = GcsFiles.path(URI.create("gs://models/llama.safetensors"), options);
 * }</pre>
 *
 * @since 0.1
 */
public final class GcsOptions {
    private static final URI GOOGLE = URI.create("https://storage.googleapis.com");
    private static final String FILE = "GOOGLE_APPLICATION_CREDENTIALS";

    private final URI endpoint;
    private final Signer signer;
    private final HttpOptions http;
    private final int partBytes;

    private GcsOptions(URI endpoint, Signer signer, HttpOptions http, int partBytes) {
        this.endpoint = endpoint;
        this.signer = signer;
        this.http = http;
        this.partBytes = partBytes;
    }

    /**
     * Returns the settings that Google's libraries would use, but for metadata servers, which are never asked: the token
     * {@code GOOGLE_OAUTH_ACCESS_TOKEN}, else the application default credentials, which are the file {@code GOOGLE_APPLICATION_CREDENTIALS}, or
     * {@code application_default_credentials.json} in {@code CLOUDSDK_CONFIG} or {@code ~/.config/gcloud}. Such a file needs an
     * {@link AccessTokenProvider}. Without any, requests have no token: buckets may be public. {@code STORAGE_EMULATOR_HOST} names another server,
     * which gets no default credentials.
     *
     * @return the settings
     * @throws CuFileException INVALID_VALUE if a variable is not valid; IO_ERROR if the credentials cannot be read
     */
    public static GcsOptions fromEnvironment() {
        return fromEnvironment(System.getenv());
    }

    /**
     * As {@link #fromEnvironment()}, with other variables.
     *
     * @param variables names and values of environment variables
     * @return the settings
     * @throws CuFileException as {@link #fromEnvironment()}
     */
    public static GcsOptions fromEnvironment(Map<String, String> variables) {
        String emulator = variables.getOrDefault("STORAGE_EMULATOR_HOST", "");
        GcsOptions plain = new GcsOptions(GOOGLE, Signer.NONE, HttpOptions.DEFAULTS, S3Options.PART);
        try {
            plain = emulator.isEmpty() ? plain
                    : plain.withEndpoint(URI.create(emulator.contains("://") ? emulator : "http://" + emulator));
        } catch (IllegalArgumentException e) {
            throw notAServer();
        }
        String token = variables.getOrDefault("GOOGLE_OAUTH_ACCESS_TOKEN", "").strip();
        if (!token.isEmpty()) {
            return plain.with(Bearer.of(token));
        }
        String file = file(variables);
        if (file.isEmpty() || !emulator.isEmpty()) {
            return plain;
        }
        Map<String, String> named = new HashMap<>(variables);
        named.put(FILE, file);
        return plain.with(Bearer.of("gs", named, file, "gds-gcs"));
    }

    private static String file(Map<String, String> variables) {
        String named = variables.getOrDefault(FILE, "");
        if (!named.isEmpty()) {
            return named;
        }
        String folder = variables.getOrDefault("CLOUDSDK_CONFIG", "");
        Path file = (folder.isEmpty()
                ? Path.of(variables.getOrDefault("HOME", System.getProperty("user.home")), ".config", "gcloud")
                : Path.of(folder)).resolve("application_default_credentials.json");
        return Files.exists(file) ? file.toString() : "";
    }

    private static CuFileException notAServer() {
        return CuFileException.invalid("GcsOptions", "the endpoint is not an http or https URL without user and query");
    }

    /** {@return the http or https URL of the server, without a slash at its end} */
    public URI endpoint() {
        return endpoint;
    }

    /** {@return settings of the requests} */
    public HttpOptions http() {
        return http;
    }

    Signer signer() {
        return signer;
    }

    int partBytes() {
        return partBytes;
    }

    /**
     * Returns a copy with another server.
     *
     * @param url http or https URL
     * @return the copy
     * @throws CuFileException INVALID_VALUE if it is not, or has a user or a query
     */
    public GcsOptions withEndpoint(URI url) {
        return new GcsOptions(
                ObjectName.server(url).orElseThrow(GcsOptions::notAServer), signer, http, partBytes);
    }

    /**
     * Returns a copy with OAuth tokens, which go to this server only and appear in no message.
     *
     * @param tokens asked at each request; thread-safe, and keeps a token while it is valid
     * @return the copy
     */
    public GcsOptions withTokens(Supplier<String> tokens) {
        return with(new Bearer(Objects.requireNonNull(tokens, "tokens")));
    }

    private GcsOptions with(Signer other) {
        return new GcsOptions(endpoint, other, http, partBytes);
    }

    /**
     * Returns a copy with other settings of requests.
     *
     * @param options the settings
     * @return the copy
     */
    public GcsOptions withHttp(HttpOptions options) {
        return new GcsOptions(endpoint, signer, Objects.requireNonNull(options, "options"), partBytes);
    }

    /** Sets the size of parts, for servers of tests. */
    GcsOptions withPartBytes(int bytes) {
        return new GcsOptions(endpoint, signer, http, bytes);
    }

    /** Returns a text without credentials. */
    @Override
    public String toString() {
        return "GcsOptions[endpoint=%s, http=%s]".formatted(ObjectName.shown(endpoint), http);
    }
}
