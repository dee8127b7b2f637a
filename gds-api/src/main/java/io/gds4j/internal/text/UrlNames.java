package io.gds4j.internal.text;

import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;

/** Recognises URLs that {@link Path#of} has taken for names of files. */
public final class UrlNames {
    private static final Set<String> SCHEMES =
            Set.of("http:", "https:", "s3:", "s3a:", "s3n:", "hf:", "gs:", "az:", "file:");

    private UrlNames() {
    }

    /** Returns what to do with a path that was a URL; empty for any other path. */
    public static Optional<String> hint(Path path) {
        return !path.isAbsolute() && path.getNameCount() > 1 && SCHEMES.contains(path.getName(0).toString())
                ? Optional
                        .of("this was a URL, of which Path.of has dropped a slash: use Checkpoint.open(URI.create(…)),"
                                + " or SourcePath.of(URI.create(…)) where a path is asked for, with gds-remote")
                : Optional.empty();
    }
}
