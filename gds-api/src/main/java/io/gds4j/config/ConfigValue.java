package io.gds4j.config;

import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The value of a key and its origin.
 *
 * @param <T> type of the value
 * @since 0.1
 */
public final class ConfigValue<T> {
    private final ConfigKey<T> key;
    private final T value;
    private final ConfigSource source;
    private final Optional<Path> file;
    private final int line;
    private final Optional<String> variable;

    ConfigValue(
            ConfigKey<T> key,
            T value,
            ConfigSource source,
            Optional<Path> file,
            int line,
            Optional<String> variable) {
        this.key = key;
        this.value = value;
        this.source = source;
        this.file = file;
        this.line = line;
        this.variable = variable;
    }

    /** {@return the key} */
    public ConfigKey<T> key() {
        return key;
    }

    /** {@return the value} */
    public T value() {
        return value;
    }

    /** {@return the source that set it} */
    public ConfigSource source() {
        return source;
    }

    /** {@return the JSON file, if the source is {@link ConfigSource#FILE}} */
    public Optional<Path> file() {
        return file;
    }

    /** {@return line in the file, counted from 1; 0 for other sources} */
    public int line() {
        return line;
    }

    /** {@return the variable, if the source is {@link ConfigSource#ENVIRONMENT}} */
    public Optional<String> variable() {
        return variable;
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
                key, value, source, Optional.ofNullable(file), line, Optional.ofNullable(variable));
    }

    /**
     * Describes the origin: {@code /etc/cufile.json:12}, {@code CUFILE_NVTX}, {@code program} or {@code default}.
     *
     * @return file and line, variable, or a word
     */
    public String origin() {
        return switch (source) {
            case API -> "program";
            case ENVIRONMENT -> variable.orElseThrow();
            case FILE -> file.orElseThrow() + ":" + line;
            case DEFAULT -> "default";
        };
    }

    /** {@return true if the value equals the default, whatever its source} */
    public boolean isDefaultValue() {
        return value.equals(key.defaultValue());
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ConfigValue<?> that && line == that.line && key.equals(that.key)
                && value.equals(that.value) && source.equals(that.source) && file.equals(that.file)
                && variable.equals(that.variable);
    }

    @Override
    public int hashCode() {
        return Objects.hash(key, value, source, file, line, variable);
    }

    @Override
    public String toString() {
        return "ConfigValue[key=" + key + ", value=" + value + ", source=" + source + ", file=" + file + ", line="
                + line + ", variable=" + variable + ']';
    }
}
