package io.gds4j.tools;

import io.gds4j.error.CuFileException;
import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import io.gds4j.remote.RemoteCache;
import io.gds4j.remote.S3Files;
import io.gds4j.remote.S3Options;
import io.gds4j.tools.terminal.CommandFailure;
import java.net.URI;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine.TypeConversionException;

/** The path or the URL of a checkpoint. */
final class CheckpointPath {
    private static final long CACHE_BYTES = 100_000_000_000L;

    private CheckpointPath() {
    }

    /**
     * Returns the path of a file, an http or https URL, or an s3 URL.
     *
     * @param environment variables, among them those with credentials and of the cache
     */
    static Path of(String value, Map<String, String> environment) {
        String start = value.toLowerCase(Locale.ROOT);
        boolean s3 = start.startsWith("s3://");
        if (!s3 && !start.startsWith("http://") && !start.startsWith("https://")) {
            try {
                return new PathConverter().convert(value);
            } catch (TypeConversionException e) {
                throw CommandFailure.usage(e.getMessage());
            }
        }
        HttpOptions options = options(environment);
        URI uri;
        try {
            uri = URI.create(value);
        } catch (IllegalArgumentException e) {
            throw notValid();
        }
        if (!s3) {
            try {
                return HttpFiles.path(uri, options);
            } catch (CuFileException e) {
                throw notValid();
            }
        }
        try {
            return S3Files.path(uri, S3Options.fromEnvironment(environment).withHttp(options));
        } catch (CuFileException e) {
            throw CommandFailure.usage(e.detail());
        }
    }

    /** The message of the cause may hold a password. */
    private static CommandFailure notValid() {
        return CommandFailure.usage("this is not a valid URL; spaces and brackets need percent signs");
    }

    private static HttpOptions options(Map<String, String> environment) {
        String folder = environment.getOrDefault("GDS4J_REMOTE_CACHE", "");
        if (folder.isEmpty()) {
            return HttpOptions.DEFAULTS;
        }
        String limit = environment.getOrDefault("GDS4J_REMOTE_CACHE_BYTES", "");
        try {
            long bytes = limit.isEmpty() ? CACHE_BYTES : new SizeConverter().convert(limit);
            return HttpOptions.DEFAULTS.withCache(new RemoteCache(Path.of(folder), bytes));
        } catch (TypeConversionException | CuFileException | IllegalArgumentException e) {
            throw CommandFailure.usage("GDS4J_REMOTE_CACHE or GDS4J_REMOTE_CACHE_BYTES: " + e.getMessage());
        }
    }
}
