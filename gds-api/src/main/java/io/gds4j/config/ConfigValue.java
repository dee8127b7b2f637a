package io.gds4j.config;

import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The value of a key and its origin.
 *
 * @param <T> type of the value
 * @since 0.1
 */
public final class ConfigValue<T> {
    private final Parts<T> parts;

    private record Parts<T>(
            ConfigKey<T> key, T value, ConfigSource source, Optional<Path> file, int line, Optional<String> variable) {
    }

    private ConfigValue(Parts<T> parts) {
        this.parts = parts;
    }

    /** {@return the key} */
    public ConfigKey<T> key() {
        return parts.key;
    }

    /** {@return the value} */
    public T value() {
        return parts.value;
    }

    /** {@return the source that set it} */
    public ConfigSource source() {
        return parts.source;
    }

    /** {@return the JSON file, if the source is {@link ConfigSource#FILE}} */
    public Optional<Path> file() {
        return parts.file;
    }

    /** {@return line in the file, counted from 1; 0 for other sources} */
    public int line() {
        return parts.line;
    }

    /** {@return the variable, if the source is {@link ConfigSource#ENVIRONMENT}} */
    public Optional<String> variable() {
        return parts.variable;
    }

    static <T> ConfigValue<T> ofDefault(ConfigKey<T> key) {
        return of(key, key.defaultValue(), ConfigSource.DEFAULT, null, 0, null);
    }

    static <T> ConfigValue<T> ofApi(ConfigKey<T> key, T value) {
        return of(key, value, ConfigSource.API, null, 0, null);
    }

    static <T> ConfigValue<T> ofVariable(ConfigKey<T> key, T value, String variable) {
        return of(key, value, ConfigSource.ENVIRONMENT, null, 0, variable);
    }

    static <T> ConfigValue<T> ofFile(ConfigKey<T> key, T value, Path file, int line) {
        return of(key, value, ConfigSource.FILE, file, line, null);
    }

    private static <T> ConfigValue<T> of(
            ConfigKey<T> key,
            T value,
            ConfigSource source,
            @Nullable Path file,
            int line,
            @Nullable String variable) {
        return new ConfigValue<>(
                new Parts<>(key, value, source, Optional.ofNullable(file), line, Optional.ofNullable(variable)));
    }

    /**
     * Describes the origin: {@code /etc/cufile.json:12}, {@code CUFILE_NVTX}, {@code program} or {@code default}.
     *
     * @return file and line, variable, or a word
     */
    public String origin() {
        return switch (parts.source) {
            case API -> "program";
            case ENVIRONMENT -> parts.variable.orElseThrow();
            case FILE -> parts.file.orElseThrow() + ":" + parts.line;
            case DEFAULT -> "default";
        };
    }

    /** {@return true if the value equals the default, whatever its source} */
    public boolean isDefaultValue() {
        return parts.value.equals(parts.key.defaultValue());
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ConfigValue<?> that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "ConfigValue");
    }
}
