package io.gds4j.remote.gcs;

import com.google.auth.oauth2.GoogleCredentials;
import com.google.auth.oauth2.ServiceAccountCredentials;
import com.google.auth.oauth2.UserCredentials;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.remote.AccessTokenProvider;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Tokens that Google's auth library gets: for the key of a service account, and for a user who signed in. On the class path or the module path, it
 * serves {@code GcsOptions.fromEnvironment()} by itself; {@link #of} takes any other credentials of the library, such as those of a metadata server.
 *
 * <pre>{@code
 * GcsOptions options = GcsOptions.fromEnvironment().withTokens(GoogleTokens.of(ComputeEngineCredentials.create()));
 * }</pre>
 *
 * @since 0.1
 */
public final class GoogleTokens implements AccessTokenProvider {
    private static final String SCOPE = "https://www.googleapis.com/auth/devstorage.read_write";

    /** Makes the provider; {@link java.util.ServiceLoader} calls this. */
    public GoogleTokens() {
        // Keeps nothing.
    }

    /**
     * Returns the tokens of credentials of the library, which keep a token until shortly before it expires.
     *
     * @param credentials the credentials; those of a service account get the scope to read and write if they have none
     * @return thread-safe; fails with a CuFileException (IO_ERROR, EACCES) if the library gets no token
     */
    public static Supplier<String> of(GoogleCredentials credentials) {
        Objects.requireNonNull(credentials, "credentials");
        return new OfLibrary(credentials.createScopedRequired() ? credentials.createScoped(SCOPE) : credentials);
    }

    /** Equal for the same credentials: options that are made again for each object share connections. */
    private record OfLibrary(GoogleCredentials credentials) implements Supplier<String> {
        @Override
        public String get() {
            try {
                credentials.refreshIfExpired();
                return credentials.getAccessToken().getTokenValue();
            } catch (IOException | RuntimeException e) {
                // The cause is not kept: it may show what a server has answered.
                throw failure("Google's auth library gets no token: " + firstLine(e));
            }
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof OfLibrary that && credentials == that.credentials;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(credentials);
        }

        /** Returns a text without secrets. */
        @Override
        public String toString() {
            return "GoogleTokens[hidden]";
        }
    }

    private static String firstLine(Exception e) {
        return "%s: %s".formatted(e.getClass().getSimpleName(),
                String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
    }

    private static CuFileException failure(String why) {
        return CuFileException.of(CuFileError.IO_ERROR, Errno.EACCES, "GoogleTokens", why);
    }

    @Override
    public String scheme() {
        return "gs";
    }

    /**
     * {@inheritDoc}
     *
     * @param variables {@code GOOGLE_APPLICATION_CREDENTIALS}, the file of a service account's key or of a user's credentials
     */
    @Override
    public Supplier<String> open(Map<String, String> variables) {
        String name = variables.getOrDefault("GOOGLE_APPLICATION_CREDENTIALS", "");
        GoogleCredentials found;
        try (InputStream file = Files.newInputStream(Path.of(name))) {
            found = GoogleCredentials.fromStream(file);
        } catch (IOException | RuntimeException e) {
            throw failure("%s gives no credentials: %s".formatted(name, firstLine(e)));
        }
        if (found instanceof ServiceAccountCredentials || found instanceof UserCredentials) {
            return of(found);
        }
        // Others may ask metadata addresses, or run a program.
        throw failure(
                "%s has credentials of another kind than a service account or a user: give those by GoogleTokens.of"
                        .formatted(name));
    }
}
