package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.source.SourcePath;
import java.net.URI;
import java.util.Objects;

/**
 * Objects of Google Cloud Storage as paths, for what takes paths: the loader and {@code CuFileDriver.openFile}.
 *
 * <pre>{@code
 * Path path = GcsFiles.path(URI.create("gs://bucket/llama/"), GcsOptions.fromEnvironment());
 * Checkpoint checkpoint = Checkpoint.open(path);
 * }</pre>
 *
 * @since 0.1
 */
public final class GcsFiles {
    private GcsFiles() {
    }

    /**
     * Returns the path of an object, or of a folder, which is a prefix of names. Sends nothing yet. The path and those resolved from it share
     * connections, and open each object once: its size and version are those of the first use.
     *
     * @param uri {@code gs://bucket/name}; a slash at the end says that it is a folder
     * @param options settings
     * @return the path; its text is the URL. {@link SourcePath#create} and {@code Files.delete} change objects; other methods of {@code Files}
     *         that write are refused
     * @throws CuFileException INVALID_VALUE for another URL, or an object with empty names
     */
    public static SourcePath path(URI uri, GcsOptions options) {
        Objects.requireNonNull(options, "options");
        String bucket = uri.getRawAuthority() == null ? "" : uri.getRawAuthority();
        if (!"gs".equalsIgnoreCase(uri.getScheme()) || !bucket.matches("[a-z0-9._-]{3,222}")) {
            throw notAllowed("");
        }
        String names = ObjectName.plain(uri, uri.getRawPath(), "name", GcsFiles::notAllowed);
        return new HttpFileSystem(GcsStore.of(bucket, options)).path(URI.create("gs://" + bucket + names));
    }

    /** The message has nothing of the URL, which may be a password. */
    private static CuFileException notAllowed(String why) {
        return CuFileException.invalid("GcsFiles.path", "not a URL like gs://BUCKET/NAME" + why);
    }
}
