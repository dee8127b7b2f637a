package io.gds4j.remote.internal;

import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import io.gds4j.remote.S3Files;
import io.gds4j.remote.S3Options;
import io.gds4j.source.SourcePath;
import io.gds4j.source.SourcePathProvider;
import java.net.URI;
import java.util.Set;

/** Objects of HTTP servers with the default options, and those of S3 with the options of the environment. */
public final class RemotePaths implements SourcePathProvider {
    @Override
    public Set<String> schemes() {
        return Set.of("http", "https", "s3");
    }

    @Override
    public SourcePath path(URI uri) {
        return uri.getScheme().equalsIgnoreCase("s3")
                ? S3Files.path(uri, S3Options.fromEnvironment())
                : HttpFiles.path(uri, HttpOptions.DEFAULTS);
    }
}
