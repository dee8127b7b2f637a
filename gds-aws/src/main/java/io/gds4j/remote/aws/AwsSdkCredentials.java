package io.gds4j.remote.aws;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.remote.S3Credentials;
import io.gds4j.remote.S3CredentialsProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider;
import software.amazon.awssdk.auth.credentials.WebIdentityTokenFileCredentialsProvider;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.profiles.ProfileFile;

/**
 * Credentials that the AWS SDK finds: web identity (IRSA), single sign-on, roles to assume, {@code credential_process}. On the class
 * path or the module path, it serves such profiles by itself; {@link #of} takes any other provider of the SDK.
 *
 * <pre>{@code
 * S3Options options = S3Options.fromEnvironment().withCredentials(AwsSdkCredentials.of(provider));
 * }</pre>
 *
 * @since 0.1
 */
public final class AwsSdkCredentials implements S3CredentialsProvider {

    /** Makes the provider; {@link java.util.ServiceLoader} calls this. */
    public AwsSdkCredentials() {
        // Keeps nothing.
    }

    /**
     * Returns the credentials of a provider of the SDK. They are asked for at each request: the SDK's providers keep what they found
     * until it expires.
     *
     * @param provider the provider; the caller closes it
     * @return thread-safe; fails with a CuFileException (IO_ERROR, EACCES) if the provider has no credentials
     */
    public static Supplier<S3Credentials> of(AwsCredentialsProvider provider) {
        Objects.requireNonNull(provider, "provider");
        return new OfSdk(provider);
    }

    /** Equal for the same provider: options that are made again for each object share connections. */
    private record OfSdk(AwsCredentialsProvider provider) implements Supplier<S3Credentials> {
        @Override
        public S3Credentials get() {
            try {
                return converted(provider.resolveCredentials());
            } catch (SdkException | IllegalStateException | IllegalArgumentException e) {
                // The cause is not kept: it may show what a process has printed.
                throw failure("%s: %s".formatted(e.getClass().getSimpleName(),
                        String.valueOf(e.getMessage()).lines().findFirst().orElse("")));
            }
        }

        /** Returns a text without keys. */
        @Override
        public String toString() {
            return "AwsSdkCredentials[hidden]";
        }
    }

    private static CuFileException failure(String why) {
        return CuFileException.of(
                CuFileError.IO_ERROR, Errno.EACCES, "S3Credentials", "the AWS SDK gives no S3 credentials: " + why);
    }

    private static S3Credentials converted(AwsCredentials keys) {
        Optional<String> token = keys instanceof AwsSessionCredentials session
                ? Optional.of(session.sessionToken()) : Optional.empty();
        return new S3Credentials(keys.accessKeyId(), keys.secretAccessKey(), token, keys.expirationTime());
    }

    /**
     * {@inheritDoc}
     *
     * @param variables {@code AWS_WEB_IDENTITY_TOKEN_FILE} with {@code AWS_ROLE_ARN}, else the profile {@code AWS_PROFILE} of AWS's
     *        files
     */
    @Override
    public Supplier<S3Credentials> open(Map<String, String> variables) {
        try {
            String token = variables.getOrDefault("AWS_WEB_IDENTITY_TOKEN_FILE", "");
            String role = variables.getOrDefault("AWS_ROLE_ARN", "");
            return of(token.isEmpty() || role.isEmpty()
                    ? profile(variables)
                    : WebIdentityTokenFileCredentialsProvider.builder()
                            .webIdentityTokenFile(Path.of(token))
                            .roleArn(role)
                            .roleSessionName(variables.getOrDefault("AWS_ROLE_SESSION_NAME", "gds4j"))
                            .build());
        } catch (SdkException | IllegalStateException | IllegalArgumentException e) {
            throw failure(String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        }
    }

    private static AwsCredentialsProvider profile(Map<String, String> variables) {
        ProfileFile.Aggregator files = ProfileFile.aggregator();
        add(files, file(variables, "AWS_SHARED_CREDENTIALS_FILE", "credentials"), ProfileFile.Type.CREDENTIALS);
        add(files, file(variables, "AWS_CONFIG_FILE", "config"), ProfileFile.Type.CONFIGURATION);
        String name = variables.getOrDefault("AWS_PROFILE", "").strip();
        name = name.isEmpty() ? variables.getOrDefault("AWS_DEFAULT_PROFILE", "").strip() : name;
        return ProfileCredentialsProvider.builder().profileFile(files.build())
                .profileName(name.isEmpty() ? "default" : name).build();
    }

    private static void add(ProfileFile.Aggregator files, Path file, ProfileFile.Type type) {
        if (Files.isReadable(file)) {
            files.addFile(ProfileFile.builder().content(file).type(type).build());
        }
    }

    private static Path file(Map<String, String> variables, String variable, String name) {
        String home = variables.getOrDefault("HOME", System.getProperty("user.home"));
        String known = variables.getOrDefault(variable, "");
        return known.isEmpty() ? Path.of(home, ".aws", name)
                : known.startsWith("~/") ? Path.of(home, known.substring(2)) : Path.of(known);
    }
}
