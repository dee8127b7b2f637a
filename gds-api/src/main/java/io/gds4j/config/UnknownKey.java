package io.gds4j.config;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A key of a JSON file that cuFile does not know. It is logged once and has no effect.
 *
 * @since 0.1
 */
public final class UnknownKey {
    private final Parts parts;

    /**
     * Sets the parts.
     *
     * @param name as {@link #name}
     * @param json as {@link #json}
     * @param file as {@link #file}
     * @param line as {@link #line}
     */
    public UnknownKey(String name, String json, Path file, int line) {
        parts = new Parts(name, json, file, line);
    }

    /** {@return dotted path in the file} */
    public String name() {
        return parts.name;
    }

    /** {@return its value as JSON text} */
    public String json() {
        return parts.json;
    }

    /** {@return the file} */
    public Path file() {
        return parts.file;
    }

    /** {@return line in the file, counted from 1} */
    public int line() {
        return parts.line;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof UnknownKey that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "UnknownKey");
    }

    private record Parts(String name, String json, Path file, int line) {}
}
