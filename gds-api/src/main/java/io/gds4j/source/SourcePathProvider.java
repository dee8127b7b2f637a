package io.gds4j.source;

import io.gds4j.error.CuFileException;
import java.net.URI;
import java.util.Set;

/**
 * Makes paths of URIs with certain schemes, for {@link SourcePath#of}. Found by {@link java.util.ServiceLoader}; an implementation has a
 * public constructor without arguments and is thread-safe.
 *
 * <p>
 * gds-remote has the schemes {@code http}, {@code https}, {@code s3} (also {@code s3a} and {@code s3n}) and {@code hf}.
 *
 * @since 0.1
 */
public interface SourcePathProvider {
    /** {@return the schemes, in lower case} */
    Set<String> schemes();

    /**
     * Makes a path. Sends nothing yet.
     *
     * @param uri a URI with one of the schemes, in any case
     * @return the path, with the provider's default settings
     * @throws CuFileException INVALID_VALUE for a URI that names no object; no message shows a user, password or query
     */
    SourcePath path(URI uri);
}
