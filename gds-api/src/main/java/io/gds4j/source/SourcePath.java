package io.gds4j.source;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;

/**
 * A path of a file system whose files are sources. {@code CuFileDriver.openFile} opens it by {@link #openSource()}, so that the
 * loader and other programs with paths need not know about sources.
 *
 * @since 0.1
 */
public interface SourcePath extends Path {
    /**
     * Returns the path of a URI: of the file of a {@code file:} URI, or what a {@link SourcePathProvider} makes of another scheme with
     * its default settings. Sends nothing yet.
     *
     * @param uri the URI, such as {@code s3://bucket/model/}
     * @return the path
     * @throws CuFileException INVALID_VALUE for a scheme without a provider; the message names the artifact that has it, if gds4j does.
     *         Otherwise as {@link SourcePathProvider#path}
     */
    static Path of(URI uri) {
        // Messages have the scheme only: the rest of a URI may hold a password.
        if (uri.getScheme() == null) {
            throw invalid("the URI has no scheme; Path.of makes a path of a file name");
        }
        String scheme = uri.getScheme().toLowerCase(Locale.ROOT);
        if (scheme.equals("file")) {
            return ofFile(uri);
        }
        Set<String> known = new TreeSet<>(Set.of("file"));
        for (SourcePathProvider provider : ServiceLoader.load(SourcePathProvider.class,
                SourcePathProvider.class.getClassLoader())) {
            if (provider.schemes().contains(scheme)) {
                return provider.path(uri);
            }
            known.addAll(provider.schemes());
        }
        Set<String> ofGdsRemote = Set.of("http", "https", "s3", "s3a", "s3n", "hf", "az", "abfs", "abfss", "gs");
        if (ofGdsRemote.contains(scheme)) {
            throw invalid("the scheme %s needs the artifact io.gds4j:gds-remote, with its META-INF/services"
                    .formatted(scheme));
        }
        throw invalid("no provider has the scheme %s; there are %s".formatted(scheme, String.join(", ", known)));
    }

    private static Path ofFile(URI uri) {
        try {
            return Path.of(uri);
        } catch (IllegalArgumentException e) {
            throw invalid("not the URI of a local file: " + e.getMessage());
        }
    }

    private static CuFileException invalid(String detail) {
        return CuFileException.invalid("SourcePath.of", detail);
    }

    /**
     * Opens the file for reading.
     *
     * @return the source; needs no close
     * @throws IOException if there is no such file, or it cannot be read
     */
    RangeSource openSource() throws IOException;

    /**
     * Returns a local file of the same content, if there is one. {@code CuFileDriver.openFile} opens it in the place of the source, so that
     * GPUDirect Storage may serve it.
     *
     * @return the file; empty by default
     * @throws IOException if this path has no file, or it cannot be read
     */
    default Optional<Path> localFile() throws IOException {
        return Optional.empty();
    }

    /**
     * Creates the file with the content of a source, and returns when it is there. It appears whole or not at all, and replaces none. A
     * failure removes what was sent. {@code SavePlan} writes to paths by this method.
     *
     * @param content the bytes; several threads read them, each byte once. An exception of it ends the call
     * @throws IOException if the content cannot be read
     * @throws CuFileException PERMISSION_DENIED with errno EROFS if the files of this system are read-only, as they are by default;
     *         IO_ERROR with errno EEXIST if there is such a file, with another one if it cannot be written
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    default void create(RangeSource content) throws IOException {
        throw CuFileException.builder("SourcePath.create")
                .error(CuFileError.PERMISSION_DENIED)
                .errno(Errno.EROFS)
                .path(this)
                .detail("files of this kind of path are read-only")
                .build();
    }
}
