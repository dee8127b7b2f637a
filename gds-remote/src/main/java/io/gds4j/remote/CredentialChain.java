package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Finds credentials as AWS's tools do: environment, profile file, metadata of the container, metadata of the instance. Keeps what
 * it found until shortly before it expires. Thread-safe.
 */
final class CredentialChain implements Supplier<S3Credentials> {
    private static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final Duration EARLY = Duration.ofMinutes(5);
    private static final int LARGEST_ANSWER = 64 << 10;

    private final Map<String, String> environment;
    private @Nullable S3Credentials known;

    CredentialChain(Map<String, String> environment) {
        this.environment = Map.copyOf(environment);
    }

    @Override
    public synchronized S3Credentials get() {
        S3Credentials before = known;
        if (before != null && before.expires().map(end -> Instant.now().isBefore(end.minus(EARLY))).orElse(true)) {
            return before;
        }
        try {
            Optional<S3Credentials> found = fromEnvironment().or(this::fromProfile);
            S3Credentials now = found.isPresent() ? found.get()
                    : fromContainer().or(this::fromInstance).orElseThrow(() -> failure(
                            "no S3 credentials: looked at AWS_ACCESS_KEY_ID, the profile file, the metadata of the"
                                    + " container and of the instance",
                            null));
            known = now;
            return now;
        } catch (CuFileException e) {
            // Credentials that still work serve until a later attempt succeeds.
            if (before != null && before.expires().map(Instant.now()::isBefore).orElse(false)) {
                return before;
            }
            throw e;
        }
    }

    private static CuFileException failure(String why, @Nullable Throwable cause) {
        CuFileException.Builder builder = CuFileException.builder("S3Credentials")
                .error(CuFileError.IO_ERROR).errno(Errno.EACCES).detail(why);
        return cause == null ? builder.build() : builder.cause(cause).build();
    }

    private String variable(String name) {
        return environment.getOrDefault(name, "");
    }

    private Optional<S3Credentials> fromEnvironment() {
        return keys(variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"), variable("AWS_SESSION_TOKEN"),
                "");
    }

    private static Optional<S3Credentials> keys(String access, String secret, String token, String expires) {
        if (access.isEmpty() || secret.isEmpty()) {
            return Optional.empty();
        }
        Optional<Instant> end = Optional.empty();
        try {
            end = expires.isEmpty() ? end : Optional.of(Instant.parse(expires));
        } catch (DateTimeException e) {
            // Without an end, they serve until the program ends.
        }
        return Optional.of(new S3Credentials(
                access, secret, token.isEmpty() ? Optional.empty() : Optional.of(token), end));
    }

    private Optional<S3Credentials> fromProfile() {
        Map<String, String> profile = S3Profile.credentials(environment);
        return keys(
                profile.getOrDefault("aws_access_key_id", ""), profile.getOrDefault("aws_secret_access_key", ""),
                profile.getOrDefault("aws_session_token", ""), "");
    }

    private Optional<S3Credentials> fromContainer() {
        String relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
        String full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
        if (relative.isEmpty() && full.isEmpty()) {
            return Optional.empty();
        }
        String token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
        String file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        try {
            if (!file.isEmpty()) {
                token = Files.readString(Path.of(file)).strip();
            }
            HttpRequest.Builder request = HttpRequest.newBuilder(
                    URI.create(relative.isEmpty() ? full : "http://169.254.170.2" + relative));
            if (!token.isEmpty()) {
                request.header("Authorization", token);
            }
            return keys(ask(request.build()));
        } catch (IOException | IllegalArgumentException e) {
            // The message of the cause may hold the token or its file.
            throw failure("the container's metadata service gives no S3 credentials: " + e.getClass().getSimpleName(),
                    null);
        }
    }

    /** Asks version 2 of the instance metadata service; outside a cloud nothing answers. */
    private Optional<S3Credentials> fromInstance() {
        if (variable("AWS_EC2_METADATA_DISABLED").equalsIgnoreCase("true")) {
            return Optional.empty();
        }
        String service = environment.getOrDefault("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254");
        String base = service.endsWith("/") ? service.substring(0, service.length() - 1) : service;
        try {
            String token = ask(HttpRequest.newBuilder(URI.create(base + "/latest/api/token"))
                    .PUT(HttpRequest.BodyPublishers.noBody())
                    .header("X-aws-ec2-metadata-token-ttl-seconds", "21600").build()).strip();
            String roles = base + "/latest/meta-data/iam/security-credentials/";
            String role = ask(metadata(roles, token)).lines().findFirst().orElse("").strip();
            return role.isEmpty() ? Optional.empty() : keys(ask(metadata(roles + role, token)));
        } catch (IOException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static HttpRequest metadata(String uri, String token) {
        return HttpRequest.newBuilder(URI.create(uri))
                .header("X-aws-ec2-metadata-token", token).build();
    }

    private static Optional<S3Credentials> keys(String json) {
        return keys(text(json, "AccessKeyId"), text(json, "SecretAccessKey"), text(json, "Token"),
                text(json, "Expiration"));
    }

    /** Returns a text of a flat JSON object; none of the fields has an escape other than a slash. */
    private static String text(String json, String field) {
        Matcher matcher = Pattern.compile("\"" + field + "\"\\s*:\\s*\"([^\"]*)\"").matcher(json);
        return matcher.find() ? matcher.group(1).replace("\\/", "/") : "";
    }

    /** Metadata services are on the machine or beside it: no proxy stands between. */
    private static String ask(HttpRequest request) throws IOException {
        try (HttpClient client = HttpClient.newBuilder().connectTimeout(PATIENCE)
                .version(HttpClient.Version.HTTP_1_1).proxy(ProxySelector.of(null)).build()) {
            HttpResponse<String> response = HttpConnections.send(
                    client, request, BodyHandlers.limiting(BodyHandlers.ofString(), LARGEST_ANSWER), PATIENCE);
            if (response.statusCode() != 200) {
                throw new IOException("status " + response.statusCode());
            }
            return response.body();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CuFileException.builder("S3Credentials").error(CuFileError.IO_ERROR).errno(Errno.EINTR)
                    .detail("interrupted while credentials were looked for").cause(e).buildInterrupted();
        }
    }

    @Override
    public String toString() {
        return "environment, profile file, container, instance";
    }
}
