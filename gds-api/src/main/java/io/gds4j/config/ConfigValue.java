package io.gds4j.config;

import java.nio.file.Path;
import java.util.Optional;

/**
 * The value of a key and its origin.
 *
 * @param <T> type of the value
 * @since 0.1
 */
public sealed interface ConfigValue<T> permits ConfigValueParts {
    /** {@return the key} */
    ConfigKey<T> key();

    /** {@return the value} */
    T value();

    /** {@return the source that set it} */
    ConfigSource source();

    /** {@return the JSON file, if the source is {@link ConfigSource#FILE}} */
    Optional<Path> file();

    /** {@return line in the file, counted from 1; 0 for other sources} */
    int line();

    /** {@return the variable, if the source is {@link ConfigSource#ENVIRONMENT}} */
    Optional<String> variable();

    /**
     * Describes the origin: {@code /etc/cufile.json:12}, {@code CUFILE_NVTX}, {@code program} or {@code default}.
     *
     * @return file and line, variable, or a word
     */
    default String origin() {
        return switch (source()) {
            case API -> "program";
            case ENVIRONMENT -> variable().orElseThrow();
            case FILE -> file().orElseThrow() + ":" + line();
            case DEFAULT -> "default";
        };
    }

    /** {@return true if the value equals the default, whatever its source} */
    default boolean isDefaultValue() {
        return value().equals(key().defaultValue());
    }
}
