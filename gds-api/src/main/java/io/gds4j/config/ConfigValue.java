package io.gds4j.config;

import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The value of one key, and who set it.
 *
 * @param <T> type of the value
 * @param key the key
 * @param value what holds
 * @param source who set it
 * @param file the JSON file, where the source is {@link ConfigSource#FILE}
 * @param line line in that file, counted from 1; 0 for other sources
 * @param variable the variable, where the source is {@link ConfigSource#ENVIRONMENT}
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
     * Who set it, in words: {@code /etc/cufile.json:12}, {@code CUFILE_NVTX}, {@code program} or {@code default}.
     *
     * @return a few words
     */
    public String origin() {
        return switch (source) {
            case API -> "program";
            case ENVIRONMENT -> variable.orElseThrow();
            case FILE -> file.orElseThrow() + ":" + line;
            case DEFAULT -> "default";
        };
    }

    /** {@return true if the value is the default one, whoever set it} */
    public boolean isDefaultValue() {
        return value.equals(key.defaultValue());
    }
}
