package io.gds4j.source;

import io.gds4j.error.CuFileException;
import java.net.URI;
import java.nio.file.Path;
import java.util.Locale;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;

/** Finds the provider of a scheme. Messages have the scheme only: the rest of a URI may hold a password. */
final class SourcePaths {
    private static final Set<String> OF_GDS_REMOTE =
            Set.of("http", "https", "s3", "s3a", "s3n", "hf", "az", "abfs", "abfss", "gs");

    private SourcePaths() {
    }

    static Path of(URI uri) {
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
        if (OF_GDS_REMOTE.contains(scheme)) {
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
}
