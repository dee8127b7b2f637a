package io.gds4j.tools.terminal;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/**
 * Identifies the build, from a properties file that the build writes.
 *
 * @param version version of the Maven project
 * @param commit abbreviated commit, or {@code unknown} for a build outside a git checkout
 */
public record BuildInfo(String version, String commit) {
    private static final String RESOURCE = "build.properties";
    private static final String UNKNOWN = "unknown";

    /** Reads the file. */
    public static BuildInfo read() {
        Properties properties = new Properties();
        try (InputStream in = BuildInfo.class.getResourceAsStream(RESOURCE)) {
            if (in != null) {
                properties.load(in);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(RESOURCE + " in the jar cannot be read", e);
        }
        return new BuildInfo(value(properties, "version"), value(properties, "commit"));
    }

    private static String value(Properties properties, String key) {
        String value = properties.getProperty(key, "").strip();
        return value.isEmpty() || value.startsWith("${") ? UNKNOWN : value;
    }
}
