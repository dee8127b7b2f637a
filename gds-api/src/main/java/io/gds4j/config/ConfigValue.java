package io.gds4j.config;

import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The value of a key and its origin.
 *
 * @param <T> type of the value
 * @param key the key
 * @param value the value
 * @param source the source that set it
 * @param file the JSON file, if the source is {@link ConfigSource#FILE}
 * @param line line in the file, counted from 1; 0 for other sources
 * @param variable the variable, if the source is {@link ConfigSource#ENVIRONMENT}
 * @since 0.1
 */
public record ConfigValue<T>(
        ConfigKey<T> key, T value, ConfigSource source, Optional<Path> file, int line, Optional<String> variable) {

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
}
