package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * Settings of files of the Hugging Face hub. Immutable.
 *
 * <pre>{@code
 * HubOptions options = HubOptions.fromEnvironment().withToken(token);
 * SourcePath model = HubFiles.path(URI.create("hf://org/model"), options);
 * }</pre>
 *
 * @since 0.1
 */
public final class HubOptions {
    private static final Pattern YES = Pattern.compile("1|on|yes|true");

    private final URI endpoint;
    private final Signer signer;
    private final Path cache;
    private final boolean offline;
    private final HttpOptions http;

    private HubOptions(URI endpoint, Signer signer, Path cache, boolean offline, HttpOptions http) {
        this.endpoint = endpoint;
        this.signer = signer;
        this.cache = cache;
        this.offline = offline;
        this.http = http;
    }

    /**
     * Returns the settings that the hub's own programs would use: {@code HF_ENDPOINT}, else https://huggingface.co; the token of {@code HF_TOKEN} or
     * {@code HUGGING_FACE_HUB_TOKEN}, or of the file {@code HF_TOKEN_PATH} or {@code $HF_HOME/token}; the cache {@code HF_HUB_CACHE} or
     * {@code $HF_HOME/hub}; {@code HF_HUB_OFFLINE}. {@code HF_HOME} is {@code ~/.cache/huggingface} by default.
     *
     * @return the settings
     * @throws CuFileException INVALID_VALUE if a variable is not valid, or the file of the token cannot be read
     */
    public static HubOptions fromEnvironment() {
        return fromEnvironment(System.getenv());
    }

    /**
     * As {@link #fromEnvironment()}, with other variables.
     *
     * @param variables names and values of environment variables
     * @return the settings
     * @throws CuFileException as {@link #fromEnvironment()}
     */
    public static HubOptions fromEnvironment(Map<String, String> variables) {
        try {
            String user = variables.getOrDefault("HOME", System.getProperty("user.home"));
            Path caches = path(variables, user, "XDG_CACHE_HOME", Path.of(user, ".cache"));
            Path home = path(variables, user, "HF_HOME", caches.resolve("huggingface"));
            Path cache = path(variables, user, "HF_HUB_CACHE", home.resolve("hub"));
            boolean offline = YES.matcher(
                    variables.getOrDefault("HF_HUB_OFFLINE", "").toLowerCase(Locale.ROOT)).matches();
            String endpoint = variables.getOrDefault("HF_ENDPOINT", "");
            HubOptions plain = new HubOptions(
                    checked(URI.create(endpoint.isEmpty() ? "https://huggingface.co" : endpoint)), Signer.NONE, cache,
                    offline, HttpOptions.DEFAULTS);
            String token = offline ? ""
                    : token(variables, path(variables, user, "HF_TOKEN_PATH", home.resolve("token")));
            return token.isEmpty() ? plain : plain.withToken(token);
        } catch (InvalidPathException e) {
            throw invalid("a variable of the hub is no path of a file");
        } catch (IllegalArgumentException e) {
            throw invalid("HF_ENDPOINT is not an http or https URL");
        }
    }

    private static String token(Map<String, String> variables, Path file) {
        for (String name : new String[]{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
            String value = variables.getOrDefault(name, "").strip();
            if (!value.isEmpty()) {
                return value;
            }
        }
        try {
            return HubCache.text(file).strip();
        } catch (NoSuchFileException e) {
            return "";
        } catch (IOException e) {
            throw invalid("the file of the token cannot be read: " + e.getMessage());
        }
    }

    private static Path path(Map<String, String> variables, String user, String name, Path otherwise) {
        String value = variables.getOrDefault(name, "");
        return value.isEmpty() ? otherwise
                : value.startsWith("~/") ? Path.of(user, value.substring(2)) : Path.of(value);
    }

    private static URI checked(URI endpoint) {
        return ObjectName.server(endpoint).orElseThrow(
                () -> invalid("the endpoint of the hub is not an http or https URL without user and query"));
    }

    private static CuFileException invalid(String why) {
        return CuFileException.invalid("HubOptions", why);
    }

    /** {@return the http or https URL of the hub, without a slash at its end} */
    public URI endpoint() {
        return endpoint;
    }

    /** {@return the folder of downloaded repositories, which is only read; it need not exist} */
    public Path cache() {
        return cache;
    }

    /** {@return whether only the cache is read} */
    public boolean isOffline() {
        return offline;
    }

    /** {@return settings of the requests} */
    public HttpOptions http() {
        return http;
    }

    Signer signer() {
        return signer;
    }

    /**
     * Returns these settings with another hub.
     *
     * @param url http or https URL without user and query
     * @return the settings
     * @throws CuFileException INVALID_VALUE for another URL
     */
    public HubOptions withEndpoint(URI url) {
        return new HubOptions(checked(url), signer, cache, offline, http);
    }

    /**
     * Returns these settings with a token. It goes to the hub only, not to the place of a redirect, and appears in no message.
     *
     * @param token the token
     * @return the settings
     * @throws CuFileException INVALID_VALUE if it is empty, or has spaces or characters outside ASCII
     */
    public HubOptions withToken(String token) {
        if (!Bearer.isToken(token)) {
            throw invalid("the token of the hub has spaces or characters outside ASCII, or no character");
        }
        return new HubOptions(endpoint, Bearer.of(token), cache, offline, http);
    }

    /**
     * Returns these settings with another cache.
     *
     * @param folder the folder of {@code models--ORG--NAME}
     * @return the settings
     */
    public HubOptions withCache(Path folder) {
        return new HubOptions(endpoint, signer, Objects.requireNonNull(folder, "folder"), offline, http);
    }

    /**
     * Returns these settings with other ones of requests.
     *
     * @param options the settings
     * @return the settings
     */
    public HubOptions withHttp(HttpOptions options) {
        return new HubOptions(endpoint, signer, cache, offline, Objects.requireNonNull(options, "options"));
    }

    /**
     * Returns these settings without the hub: only the cache is read.
     *
     * @return the settings
     */
    public HubOptions offline() {
        return new HubOptions(endpoint, signer, cache, true, http);
    }

    /** Returns a text without the token. */
    @Override
    public String toString() {
        return "HubOptions[endpoint=%s, cache=%s, offline=%s, http=%s]".formatted(endpoint, cache, offline, http);
    }
}
