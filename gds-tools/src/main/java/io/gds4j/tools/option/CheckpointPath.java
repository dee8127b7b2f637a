package io.gds4j.tools.option;

import io.gds4j.error.CuFileException;
import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import io.gds4j.remote.RemoteCache;
import io.gds4j.remote.S3Files;
import io.gds4j.remote.S3Options;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Units;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import picocli.CommandLine.TypeConversionException;

/** The path or the URL of a checkpoint or of records. */
public final class CheckpointPath {
    private static final long CACHE_BYTES = 100_000_000_000L;

    private CheckpointPath() {
    }

    /**
     * Returns the path of a file, an http or https URL, or an s3 URL.
     *
     * @param environment variables, among them those with credentials and of the cache
     */
    public static Path of(String value, Map<String, String> environment) {
        String scheme = Converters.scheme(value);
        boolean s3 = scheme.equals("s3");
        if (!s3 && !scheme.equals("http") && !scheme.equals("https")) {
            try {
                return scheme.isEmpty() ? Converters.path(value) : refused(scheme);
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
                throw uri.getRawAuthority() == null ? notValid() : CommandFailure.usage(e.detail());
            }
        }
        try {
            return S3Files.path(uri, S3Options.fromEnvironment(environment).toBuilder().http(options).build());
        } catch (CuFileException e) {
            throw CommandFailure.usage(e.detail());
        }
    }

    /** Says what takes the place of a scheme that others know; the URL may hold a password. */
    private static Path refused(String scheme) {
        throw CommandFailure.usage("%s:// is not supported; %s".formatted(scheme, switch (scheme) {
            case "hf" -> "a file of the Hugging Face hub is https://huggingface.co/ORG/MODEL/resolve/main/FILE";
            case "gs" -> "an object is https://storage.googleapis.com/BUCKET/OBJECT, or s3://BUCKET/OBJECT with"
                    + " AWS_ENDPOINT_URL_S3=https://storage.googleapis.com and an HMAC key";
            case "file" -> "write the path alone";
            default -> "allowed are paths, https://, http:// and s3://";
        }));
    }

    /** The message of the cause may hold a password. */
    private static CommandFailure notValid() {
        return CommandFailure
                .usage("this is not a valid URL; in paths and keys, a space is written %20, [ %5B and ] %5D");
    }

    /** Files that set variables, such as those of containers, do not expand the sign of the home folder. */
    private static Path folder(String value, Map<String, String> environment) {
        String home = environment.getOrDefault("HOME", "");
        return value.startsWith("~/") && !home.isEmpty() ? Path.of(home, value.substring(2)) : Path.of(value);
    }

    private static HttpOptions options(Map<String, String> environment) {
        HttpOptions plain = HttpOptions.DEFAULTS.withSequential(
                environment.getOrDefault("GDS4J_REMOTE_SEQUENTIAL", "").equalsIgnoreCase("true"));
        String folder = environment.getOrDefault("GDS4J_REMOTE_CACHE", "");
        if (folder.isEmpty()) {
            return plain;
        }
        String limit = environment.getOrDefault("GDS4J_REMOTE_CACHE_BYTES", "");
        try {
            long bytes = limit.isEmpty() ? CACHE_BYTES : Units.parseBytes(limit);
            return plain.withCache(new RemoteCache(folder(folder, environment), bytes));
        } catch (CuFileException | IllegalArgumentException e) {
            throw CommandFailure.usage("GDS4J_REMOTE_CACHE or GDS4J_REMOTE_CACHE_BYTES: " + e.getMessage());
        }
    }
}
