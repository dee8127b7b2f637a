package io.gds4j.config;

import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A key of a JSON file that cuFile does not know. It is logged once and has no effect.
 *
 * @since 0.1
 */
public final class UnknownKey {
    private final String name;
    private final String json;
    private final Path file;
    private final int line;

    /**
     * Sets the parts.
     *
     * @param name as {@link #name}
     * @param json as {@link #json}
     * @param file as {@link #file}
     * @param line as {@link #line}
     */
    public UnknownKey(String name, String json, Path file, int line) {
        this.name = name;
        this.json = json;
        this.file = file;
        this.line = line;
    }

    /** {@return dotted path in the file} */
    public String name() {
        return name;
    }

    /** {@return its value as JSON text} */
    public String json() {
        return json;
    }

    /** {@return the file} */
    public Path file() {
        return file;
    }

    /** {@return line in the file, counted from 1} */
    public int line() {
        return line;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof UnknownKey that && line == that.line && name.equals(that.name) && json.equals(that.json)
                && file.equals(that.file);
    }

    @Override
    public int hashCode() {
        return Objects.hash(name, json, file, line);
    }

    @Override
    public String toString() {
        return "UnknownKey[name=" + name + ", json=" + json + ", file=" + file + ", line=" + line + ']';
    }
}
