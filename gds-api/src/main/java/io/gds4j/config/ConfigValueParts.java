package io.gds4j.config;

import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** The parts of a {@link ConfigValue}. */
record ConfigValueParts<T>(ConfigKey<T> key, T value, ConfigSource source, Optional<Path> file, int line,
        Optional<String> variable) implements ConfigValue<T> {
    /** Returns the value of a key among those of all keys. */
    @SuppressWarnings("unchecked") // each value stands at its own key
    static <T> ConfigValue<T> in(Map<ConfigKey<?>, ConfigValue<?>> values, ConfigKey<T> key) {
        return (ConfigValue<T>) values.get(key);
    }

    static <T> ConfigValue<T> ofDefault(ConfigKey<T> key) {
        return of(key, key.defaultValue(), ConfigSource.DEFAULT);
    }

    static <T> ConfigValue<T> ofApi(ConfigKey<T> key, T value) {
        return of(key, value, ConfigSource.API);
    }

    static <T> ConfigValue<T> ofVariable(ConfigKey<T> key, T value, String variable) {
        return new ConfigValueParts<>(key, value, ConfigSource.ENVIRONMENT, Optional.empty(), 0, Optional.of(variable));
    }

    static <T> ConfigValue<T> ofFile(ConfigKey<T> key, T value, Path file, int line) {
        return new ConfigValueParts<>(key, value, ConfigSource.FILE, Optional.of(file), line, Optional.empty());
    }

    private static <T> ConfigValue<T> of(ConfigKey<T> key, T value, ConfigSource source) {
        return new ConfigValueParts<>(key, value, source, Optional.empty(), 0, Optional.empty());
    }
}
