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
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Finds credentials as AWS's tools do: environment, profile, metadata of the container, metadata of the instance. What signs in
 * elsewhere is left to an {@link S3CredentialsProvider}. Keeps what it found until shortly before it expires. Thread-safe.
 */
final class CredentialChain implements Supplier<S3Credentials> {
    private static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final Duration EARLY = Duration.ofMinutes(5);
    private static final int MAX_ANSWER = 64 << 10;

    private final Map<String, String> environment;
    private @Nullable S3Credentials known;
    private @Nullable Supplier<S3Credentials> other;
    private @Nullable S3Profile profile;

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
            S3Credentials now = fromEnvironment().or(this::fromProvider).or(this::fromProfile).or(this::fromContainer)
                    .or(this::fromInstance).orElseThrow(this::none);
            known = other == null ? now : null;
            return now;
        } catch (CuFileException e) {
            // Credentials that still work serve until a later attempt succeeds.
            if (before != null && before.expires().map(Instant.now()::isBefore).orElse(false)) {
                return before;
            }
            throw e;
        }
    }

    /** Chains of equal variables find the same, at the same time: their requests share connections. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof CredentialChain that && environment.equals(that.environment);
    }

    @Override
    public int hashCode() {
        return environment.hashCode();
    }

    /** Returns the profile. A provider is asked at each request: its files are parsed again only if they changed. */
    private S3Profile profile() {
        S3Profile before = profile;
        if (before != null && before.isCurrent(environment)) {
            return before;
        }
        S3Profile now = S3Profile.of(environment);
        profile = now;
        other = null;
        return now;
    }

    private CuFileException none() {
        S3Profile found = profile();
        String files = "%s %s %s".formatted(
                S3Profile.credentials(environment),
                found.isThere() ? "and" : "nor", S3Profile.config(environment));
        return failure(
                "no S3 credentials: looked at AWS_ACCESS_KEY_ID, the profile '%s', which %s %s, the metadata of the"
                        .formatted(found.name(), found.isThere() ? "has no keys in" : "is neither in", files)
                        + " container and of the instance",
                null);
    }

    /** Asks who can sign in, if the environment or the profile wants that. */
    private Optional<S3Credentials> fromProvider() {
        String way = signIn();
        if (way.isEmpty()) {
            return Optional.empty();
        }
        Supplier<S3Credentials> asked = other;
        if (asked == null) {
            asked = provider().orElseThrow(() -> failure(
                    "%s gives the S3 credentials, which needs the artifact io.gds4j:gds-aws on the class path"
                            .formatted(way),
                    null)).open(environment);
            other = asked;
        }
        return Optional.of(asked.get());
    }

    private static Optional<S3CredentialsProvider> provider() {
        return ServiceLoader.load(S3CredentialsProvider.class, S3CredentialsProvider.class.getClassLoader())
                .findFirst();
    }

    /** Returns what signs in, if anything does; in the order of AWS's tools, keys of the profile come before its process. */
    private String signIn() {
        if (!variable("AWS_WEB_IDENTITY_TOKEN_FILE").isEmpty() && !variable("AWS_ROLE_ARN").isEmpty()) {
            return "the web identity of AWS_WEB_IDENTITY_TOKEN_FILE";
        }
        S3Profile found = profile();
        for (String setting : List.of("role_arn", "web_identity_token_file", "sso_session", "sso_account_id")) {
            if (!found.get(setting).isEmpty()) {
                return "%s of the profile %s".formatted(setting, found.name());
            }
        }
        for (String setting : List.of("credential_process", "login_session")) {
            if (!found.get(setting).isEmpty() && found.get("aws_access_key_id").isEmpty()) {
                return "%s of the profile %s".formatted(setting, found.name());
            }
        }
        return "";
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
        S3Profile found = profile();
        return keys(found.get("aws_access_key_id"), found.get("aws_secret_access_key"),
                found.get("aws_session_token"), "");
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
            URI uri = URI.create(relative.isEmpty() ? full : "http://169.254.170.2" + relative);
            if (!"https".equalsIgnoreCase(uri.getScheme())
                    && !Reach.isOfTheMachine(String.valueOf(uri.getHost()))) {
                throw failure("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor an address of this machine",
                        null);
            }
            HttpRequest.Builder request = HttpRequest.newBuilder(uri);
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
                    client, request, BodyHandlers.limiting(BodyHandlers.ofString(), MAX_ANSWER), PATIENCE);
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
