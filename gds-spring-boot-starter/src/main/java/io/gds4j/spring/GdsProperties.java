package io.gds4j.spring;

import io.gds4j.config.DirectStorage;
import io.gds4j.error.CuFileException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What an application sets by {@code gds4j.*}.
 *
 * @param backend {@code auto}, {@code compat} or {@code libcufile}
 * @param directStorage whether GPUDirect Storage may or must serve
 * @param cufileJson path of a cufile.json; empty: the one that cuFile would find
 * @param checkpoints the checkpoints that are loaded at the start, by the names of their beans
 * @param health what the health check examines
 * @since 0.1
 */
@ConfigurationProperties("gds4j")
public record GdsProperties(
        @DefaultValue("auto") String backend,
        @DefaultValue("auto") DirectStorage directStorage,
        @DefaultValue("") String cufileJson,
        @DefaultValue Map<String, Checkpoint> checkpoints,
        @DefaultValue Health health) {
    /**
     * A checkpoint that is loaded at the start.
     *
     * @param path a file, an index, a folder, or a URI of gds-remote
     * @param target {@code best}, {@code host} or {@code gpu:N}
     * @param include a regular expression that is found in the names of the tensors to load; empty: all of them
     * @since 0.1
     */
    public record Checkpoint(
            @DefaultValue("") String path, @DefaultValue("best") String target, @DefaultValue("") String include) {
    }

    /**
     * What the health check examines.
     *
     * @param paths files and folders that must be readable; with direct storage REQUIRE it must serve all of them
     * @since 0.1
     */
    public record Health(@DefaultValue List<String> paths) {
    }

    /** Returns whether a value is a URI, such as of an object of S3. */
    static boolean isUri(String value) {
        return value.matches("[A-Za-z][A-Za-z0-9+.-]+://.*");
    }

    /** Returns the path that a property names. */
    static Path pathOf(String property, String value) {
        if (isUri(value)) {
            // Not named: it may hold a password.
            throw CuFileException.invalid(property, "a URI, allowed: the path of a file or folder");
        }
        try {
            return Path.of(value);
        } catch (InvalidPathException e) {
            throw CuFileException.invalid(property, "no path: " + e.getReason());
        }
    }
}
