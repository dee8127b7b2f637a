package io.gds4j.tools.command;

import io.gds4j.error.CuFileException;
import io.gds4j.remote.AzureFiles;
import io.gds4j.remote.AzureOptions;
import io.gds4j.remote.GcsFiles;
import io.gds4j.remote.GcsOptions;
import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import io.gds4j.remote.HubFiles;
import io.gds4j.remote.HubOptions;
import io.gds4j.remote.RemoteCache;
import io.gds4j.remote.S3Files;
import io.gds4j.remote.S3Options;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Units;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import picocli.CommandLine.TypeConversionException;

/** The path or the URL of a checkpoint or of records. */
final class CheckpointPath {
    private static final Set<String> SCHEMES =
            Set.of("http", "https", "s3", "s3a", "s3n", "hf", "az", "abfs", "abfss", "gs");
    private static final long CACHE_BYTES = 100_000_000_000L;

    private CheckpointPath() {
    }

    /**
     * Returns the path of a file, or of a URL of one of {@link #SCHEMES}.
     *
     * @param environment variables, among them those with credentials and of the cache
     */
    static Path of(String value, Map<String, String> environment) {
        String scheme = Converters.scheme(value);
        if (!SCHEMES.contains(scheme)) {
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
        try {
            return switch (scheme) {
                case "http", "https" -> HttpFiles.path(uri, options);
                case "az", "abfs", "abfss" ->
                    AzureFiles.path(uri, AzureOptions.fromEnvironment(environment).withHttp(options));
                case "gs" -> GcsFiles.path(uri, GcsOptions.fromEnvironment(environment).withHttp(options));
                case "hf" -> HubFiles.path(uri, HubOptions.fromEnvironment(environment).withHttp(options));
                default -> S3Files.path(
                        uri, S3Options.fromEnvironment(environment).withHttp(options));
            };
        } catch (CuFileException e) {
            throw uri.getRawAuthority() == null ? notValid() : CommandFailure.usage(e.detail());
        }
    }

    /** Says what takes the place of a scheme that others know; the URL may hold a password. */
    private static Path refused(String scheme) {
        throw CommandFailure.usage("%s:// is not supported; %s".formatted(scheme, scheme.equals("file")
                ? "write the path alone" : "allowed are paths, https://, http://, s3://, gs://, az:// and hf://"));
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
        String certificates = environment.getOrDefault("GDS4J_REMOTE_CERTIFICATES", "");
        plain = certificates.isEmpty() ? plain : plain.withCertificates(folder(certificates, environment));
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
