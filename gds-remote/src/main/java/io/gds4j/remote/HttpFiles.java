package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.source.SourcePath;
import java.net.URI;
import java.util.Objects;

/**
 * Objects of HTTP servers as paths, for what takes paths: the loader and {@code CuFileDriver.openFile}.
 *
 * <pre>{@code
 * Checkpoint checkpoint = Checkpoint.open(HttpFiles.path(URI.create("https://example.com/model.safetensors"), HttpOptions.DEFAULTS));
 * }</pre>
 *
 * <p>
 * A failure of the server is a {@code CuFileException}, of {@code Files.exists}, too: "false" would let a program replace what is
 * there. Only {@code Files.isRegularFile} and {@code Files.isReadable} say "false" for what these credentials may not read.
 *
 * @since 0.1
 */
public final class HttpFiles {
    private HttpFiles() {
    }

    /**
     * Returns the path of an object. Sends nothing yet. The path and those resolved from it share connections, and open each
     * object once: its size and version are those of the first use.
     *
     * @param uri an http or https URL
     * @param options settings
     * @return the path; its text is the URL without user, password and query. It is read-only, and has no folders to list
     * @throws CuFileException INVALID_VALUE for another URL
     */
    public static SourcePath path(URI uri, HttpOptions options) {
        Objects.requireNonNull(uri, "uri");
        if (!ObjectName.isHttp(uri)) {
            throw CuFileException.invalid("HttpFiles.path", ObjectName.notHttp(uri));
        }
        URI plain = ObjectName.ascii(uri);
        return new HttpFileSystem(new HttpStore(
                plain, HttpConnections.of(plain, Objects.requireNonNull(options, "options")))).path(plain);
    }

    /**
     * Returns, in words, which client sends requests with these settings, and which policy of TLS it obeys: the system's libcurl, or the
     * client of the JDK and why.
     *
     * @param options settings
     * @return one line
     */
    public static String client(HttpOptions options) {
        return NativeClient.describe(options);
    }
}
