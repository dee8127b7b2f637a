package io.gds4j.remote.internal;

import io.gds4j.remote.AzureFiles;
import io.gds4j.remote.AzureOptions;
import io.gds4j.remote.GcsFiles;
import io.gds4j.remote.GcsOptions;
import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import io.gds4j.remote.HubFiles;
import io.gds4j.remote.HubOptions;
import io.gds4j.remote.S3Files;
import io.gds4j.remote.S3Options;
import io.gds4j.source.SourcePath;
import io.gds4j.source.SourcePathProvider;
import java.net.URI;
import java.util.Locale;
import java.util.Set;

/** Objects of HTTP servers with the default options, those of S3, Azure, Google and the Hugging Face hub with the options of the environment. */
public final class RemotePaths implements SourcePathProvider {
    @Override
    public Set<String> schemes() {
        return Set.of("http", "https", "s3", "s3a", "s3n", "hf", "az", "abfs", "abfss", "gs");
    }

    @Override
    public SourcePath path(URI uri) {
        return switch (uri.getScheme().toLowerCase(Locale.ROOT)) {
            case "s3", "s3a", "s3n" -> S3Files.path(uri, S3Options.fromEnvironment());
            case "az", "abfs", "abfss" -> AzureFiles.path(uri, AzureOptions.fromEnvironment());
            case "gs" -> GcsFiles.path(uri, GcsOptions.fromEnvironment());
            case "hf" -> HubFiles.path(uri, HubOptions.fromEnvironment());
            default -> HttpFiles.path(uri, HttpOptions.DEFAULTS);
        };
    }
}
