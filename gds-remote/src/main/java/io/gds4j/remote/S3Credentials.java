package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Keys that sign requests to an S3 server. Immutable. The text of {@link #toString} holds no key.
 *
 * @since 0.1
 */
public final class S3Credentials {
    /** No credentials: requests are not signed. Public buckets allow that. */
    public static final S3Credentials ANONYMOUS = new S3Credentials("", "", Optional.empty(), Optional.empty());

    private final String accessKey;
    private final String secretKey;
    private final Optional<String> sessionToken;
    private final Optional<Instant> expires;

    /**
     * Checks for null, and that the keys can be sent.
     *
     * @param accessKey as {@link #accessKey}
     * @param secretKey as {@link #secretKey}
     * @param sessionToken as {@link #sessionToken}
     * @param expires as {@link #expires}
     * @throws CuFileException INVALID_VALUE for a space, a line break or another character that is not visible ASCII in
     *         {@code accessKey} or {@code sessionToken}
     */
    public S3Credentials(
            String accessKey,
            String secretKey,
            Optional<String> sessionToken,
            Optional<Instant> expires) {
        Objects.requireNonNull(accessKey, "accessKey");
        Objects.requireNonNull(secretKey, "secretKey");
        Objects.requireNonNull(sessionToken, "sessionToken");
        Objects.requireNonNull(expires, "expires");
        if (!(accessKey + sessionToken.orElse("")).matches("[!-~]*")) {
            throw CuFileException.invalid("S3Credentials",
                    "the access key or the session token has a space, a line break or another character that is not visible ASCII");
        }
        this.accessKey = accessKey;
        this.secretKey = secretKey;
        this.sessionToken = sessionToken;
        this.expires = expires;
    }

    /** {@return name of the key; empty for {@link #ANONYMOUS}} */
    public String accessKey() {
        return accessKey;
    }

    /** {@return the secret} */
    public String secretKey() {
        return secretKey;
    }

    /** {@return token of temporary credentials; empty for lasting ones} */
    public Optional<String> sessionToken() {
        return sessionToken;
    }

    /** {@return when temporary credentials end; empty if unknown or never} */
    public Optional<Instant> expires() {
        return expires;
    }

    /**
     * Returns lasting credentials.
     *
     * @param accessKey name of the key
     * @param secretKey the secret
     * @return the credentials
     */
    public static S3Credentials of(String accessKey, String secretKey) {
        return new S3Credentials(accessKey, secretKey, Optional.empty(), Optional.empty());
    }

    /** Returns a text without keys. */
    @Override
    public String toString() {
        return accessKey.isEmpty() ? "S3Credentials[anonymous]" : "S3Credentials[hidden]";
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof S3Credentials that && accessKey.equals(that.accessKey)
                && secretKey.equals(that.secretKey) && sessionToken.equals(that.sessionToken)
                && expires.equals(that.expires);
    }

    @Override
    public int hashCode() {
        return Objects.hash(accessKey, secretKey, sessionToken, expires);
    }
}
