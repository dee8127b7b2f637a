package io.gds4j.remote.azure;

import com.azure.core.credential.AccessToken;
import com.azure.core.credential.TokenCredential;
import com.azure.core.credential.TokenRequestContext;
import com.azure.core.http.HttpClient;
import com.azure.identity.AadCredentialBuilderBase;
import com.azure.identity.ClientCertificateCredentialBuilder;
import com.azure.identity.ClientSecretCredentialBuilder;
import com.azure.identity.WorkloadIdentityCredentialBuilder;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.remote.AccessTokenProvider;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Tokens of Microsoft Entra that Azure's identity library gets: for an application with a secret or a certificate, and for a workload of Kubernetes. On
 * the class path or the module path, it serves {@code AzureOptions.fromEnvironment()} by itself; {@link #of} takes any other credential of the library,
 * such as that of a managed identity.
 *
 * <pre>{@code
 * AzureOptions options = AzureOptions.fromEnvironment().withTokens(EntraTokens.of(credential));
 * }</pre>
 *
 * @since 0.1
 */
public final class EntraTokens implements AccessTokenProvider {
    private static final String SCOPE = "https://storage.azure.com/.default";
    private static final Duration EARLY = Duration.ofMinutes(5);

    /** Makes the provider; {@link java.util.ServiceLoader} calls this. */
    public EntraTokens() {
        // Keeps nothing.
    }

    /**
     * Returns the tokens of a credential of the library. A token is kept until 5 minutes before it expires.
     *
     * @param credential the credential
     * @return thread-safe; fails with a CuFileException (IO_ERROR, EACCES) if the library gets no token
     */
    public static Supplier<String> of(TokenCredential credential) {
        return new OfLibrary(Objects.requireNonNull(credential, "credential"));
    }

    /** Equal for the same credential: options that are made again for each object share connections. */
    private static final class OfLibrary implements Supplier<String> {
        private final TokenCredential credential;
        private @Nullable AccessToken known;

        OfLibrary(TokenCredential credential) {
            this.credential = credential;
        }

        @Override
        public synchronized String get() {
            AccessToken before = known;
            if (before != null && OffsetDateTime.now().isBefore(before.getExpiresAt().minus(EARLY))) {
                return before.getToken();
            }
            try {
                AccessToken now = credential.getTokenSync(new TokenRequestContext().addScopes(SCOPE));
                known = now;
                return now.getToken();
            } catch (RuntimeException e) {
                // The cause is not kept: it may show what a server has answered.
                throw failure("Azure's identity library gets no token: " + firstLine(e));
            }
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof OfLibrary that && credential == that.credential;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(credential);
        }

        /** Returns a text without secrets. */
        @Override
        public String toString() {
            return "EntraTokens[hidden]";
        }
    }

    private static String firstLine(RuntimeException e) {
        return "%s: %s".formatted(e.getClass().getSimpleName(),
                String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
    }

    private static CuFileException failure(String why) {
        return CuFileException.of(CuFileError.IO_ERROR, Errno.EACCES, "EntraTokens", why);
    }

    @Override
    public String scheme() {
        return "az";
    }

    /**
     * {@inheritDoc}
     *
     * @param variables {@code AZURE_TENANT_ID} and {@code AZURE_CLIENT_ID} with {@code AZURE_CLIENT_SECRET}, {@code AZURE_CLIENT_CERTIFICATE_PATH} or
     *            {@code AZURE_FEDERATED_TOKEN_FILE}; {@code AZURE_AUTHORITY_HOST}
     */
    @Override
    public Supplier<String> open(Map<String, String> variables) {
        try {
            return of(credential(variables, Optional.empty()));
        } catch (RuntimeException e) {
            throw failure("the variables of Azure give no credential: " + firstLine(e));
        }
    }

    /** @param client sends the requests in the place of the library's own */
    static TokenCredential credential(Map<String, String> variables, Optional<HttpClient> client) {
        String secret = variables.getOrDefault("AZURE_CLIENT_SECRET", "");
        String certificate = variables.getOrDefault("AZURE_CLIENT_CERTIFICATE_PATH", "");
        if (!secret.isEmpty()) {
            return with(new ClientSecretCredentialBuilder(), variables, client).clientSecret(secret).build();
        }
        if (!certificate.isEmpty()) {
            return with(new ClientCertificateCredentialBuilder(), variables, client)
                    .pemCertificate(certificate).build();
        }
        return with(new WorkloadIdentityCredentialBuilder(), variables, client)
                .tokenFilePath(variables.getOrDefault("AZURE_FEDERATED_TOKEN_FILE", "")).build();
    }

    private static <T extends AadCredentialBuilderBase<T>> T with(
            T builder, Map<String, String> variables, Optional<HttpClient> client) {
        builder.tenantId(variables.getOrDefault("AZURE_TENANT_ID", ""))
                .clientId(variables.getOrDefault("AZURE_CLIENT_ID", ""));
        Optional.ofNullable(variables.get("AZURE_AUTHORITY_HOST")).ifPresent(builder::authorityHost);
        client.ifPresent(builder::httpClient);
        return builder;
    }
}
