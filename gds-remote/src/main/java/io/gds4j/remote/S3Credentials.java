package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import java.time.Instant;
import java.util.Objects;
import java.util.Optional;

/**
 * Keys that sign requests to an S3 server. Immutable. The text of {@link #toString} holds no key.
 *
 * @param accessKey name of the key; empty for {@link #ANONYMOUS}
 * @param secretKey the secret
 * @param sessionToken token of temporary credentials; empty for lasting ones
 * @param expires when temporary credentials end; empty if unknown or never
 * @since 0.1
 */
public record S3Credentials(String accessKey, String secretKey, Optional<String> sessionToken,
        Optional<Instant> expires) {

    /** No credentials: requests are not signed. Public buckets allow that. */
    public static final S3Credentials ANONYMOUS = new S3Credentials("", "", Optional.empty(), Optional.empty());

    /**
     * Refuses null, and keys that cannot be sent.
     *
     * @throws CuFileException INVALID_VALUE for a space, a line break or another character that is not visible ASCII in
     *         {@code accessKey} or {@code sessionToken}
     */
    public S3Credentials {
        Objects.requireNonNull(accessKey, "accessKey");
        Objects.requireNonNull(secretKey, "secretKey");
        Objects.requireNonNull(sessionToken, "sessionToken");
        Objects.requireNonNull(expires, "expires");
        if (!(accessKey + sessionToken.orElse("")).matches("[!-~]*")) {
            throw CuFileException.invalid("S3Credentials",
                    "the access key or the session token has a space, a line break or another character that is not visible ASCII");
        }
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
}
