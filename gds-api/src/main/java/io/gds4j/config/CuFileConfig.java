package io.gds4j.config;

import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a driver session: every value with its source. Immutable.
 *
 * <pre>{@code
 * CuFileConfig config = CuFileConfig.builder().maxIoThreads(8).build();
 * config.get(CuFileKeys.MAX_IO_THREADS);            // 8
 * config.source(CuFileKeys.MAX_IO_THREADS);         // API
 * config.value(CuFileKeys.IO_BATCHSIZE).origin();   // /etc/cufile.json:31
 * }</pre>
 *
 * <p>
 * Precedence, strongest first: the program ({@link Builder#set}), the environment ({@code CUFILE_*}), the JSON file that
 * {@code CUFILE_ENV_PATH_JSON} names or else {@code /etc/cufile.json}, the defaults. Every value is checked, even if a stronger
 * source overrides it.
 *
 * <p>
 * The file may contain comments. An unknown key is kept, logged once and has no effect. If {@code /etc/cufile.json} does not
 * exist, the defaults apply. If the file of {@code CUFILE_ENV_PATH_JSON} does not exist, the defaults apply and a warning is
 * logged, as in libcufile. A blank variable counts as not set.
 *
 * @since 0.1
 */
public final class CuFileConfig {
    private final Map<ConfigKey<?>, ConfigValue<?>> values;
    private final List<UnknownKey> unknown;
    private final List<String> warnings;

    CuFileConfig(Map<ConfigKey<?>, ConfigValue<?>> explicit, List<UnknownKey> unknown, List<String> warnings) {
        Map<ConfigKey<?>, ConfigValue<?>> all = new LinkedHashMap<>();
        for (ConfigKey<?> key : CuFileKeys.all()) {
            ConfigValue<?> value = explicit.get(key);
            all.put(key, value == null ? ConfigValueParts.ofDefault(key) : value);
        }
        this.values = all;
        this.unknown = List.copyOf(unknown);
        this.warnings = List.copyOf(warnings);
        CrossKeyRules.check(values);
    }

    /**
     * Reads the environment of this process, the JSON file that it names or {@code /etc/cufile.json}, and the defaults.
     *
     * @return the configuration
     * @throws CuFileConfigException for the first invalid value, with its place
     */
    public static CuFileConfig load() {
        return builder().build();
    }

    /**
     * Reads these variables instead of the environment of this process; otherwise like {@link #load()}.
     *
     * @param environment names and values of variables
     * @return the configuration
     * @throws CuFileConfigException for the first invalid value, with its place
     */
    public static CuFileConfig load(Map<String, String> environment) {
        return builder().environment(environment).build();
    }

    /**
     * Reads this JSON file instead of the one that the environment names and of {@code /etc/cufile.json}; otherwise like
     * {@link #load()}.
     *
     * @param json the file
     * @return the configuration
     * @throws CuFileConfigException if the file cannot be read; for the first invalid value, with its place
     */
    public static CuFileConfig load(Path json) {
        return builder().file(json).build();
    }

    /** {@return the defaults, without environment and files} */
    public static CuFileConfig defaults() {
        return builder().withoutEnvironment().build();
    }

    /**
     * Begins a configuration with values of the program, which win over environment, file and defaults.
     *
     * @return a new builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Begins a copy of this configuration with other values of the program. Reads neither environment nor file again.
     *
     * @return a new builder
     */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /**
     * Returns the value of a key.
     *
     * @param <T> type of the value
     * @param key the key
     * @return the value, in {@link ConfigKey#unit}
     */
    public <T> T get(ConfigKey<T> key) {
        return value(key).value();
    }

    /**
     * Returns the source of a key's value.
     *
     * @param key the key
     * @return the source
     */
    public ConfigSource source(ConfigKey<?> key) {
        return value(key).source();
    }

    /**
     * Returns the value of a key with its source, file, line and variable.
     *
     * @param <T> type of the value
     * @param key the key
     * @return value and origin
     */
    public <T> ConfigValue<T> value(ConfigKey<T> key) {
        return ConfigValueParts.in(values, Objects.requireNonNull(key, "key"));
    }

    /** {@return every value, in the order of the file} */
    public List<ConfigValue<?>> values() {
        return List.copyOf(values.values());
    }

    /** {@return keys of the file that cuFile does not know, in the order of the file} */
    public List<UnknownKey> unknownKeys() {
        return unknown;
    }

    /** {@return warnings that {@link Builder#build} logged, one line each} */
    public List<String> warnings() {
        return warnings;
    }

    /**
     * Returns whether GPUDirect Storage may or must serve files: {@code properties.force_compat_mode} and
     * {@code properties.allow_compat_mode} in one value.
     *
     * @return {@link DirectStorage#AUTO} by default
     */
    public DirectStorage directStorage() {
        if (get(CuFileKeys.FORCE_COMPAT_MODE)) {
            return DirectStorage.OFF;
        }
        return get(CuFileKeys.ALLOW_COMPAT_MODE) ? DirectStorage.AUTO : DirectStorage.REQUIRE;
    }

    /** {@return the host bounce-buffer slabs: {@code properties.posix_pool_slab_size_kb} and {@code posix_pool_slab_count}} */
    public SlabArray posixPoolSlabs() {
        return new SlabArray(get(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB), get(CuFileKeys.POSIX_POOL_SLAB_COUNT));
    }

    /**
     * Writes the values that are not from defaults as a cufile.json, in the order of the keys. {@link #load(Path)} of such a file, without an
     * environment, has the same values, but for those that only the environment can set.
     *
     * @return a JSON object without comments, which ends with a line break
     */
    public String toJson() {
        return ConfigJson.text(values.values().stream()
                .filter(value -> value.source() != ConfigSource.DEFAULT && value.key().inFile())
                .toList());
    }

    /** Lists the values that are not from defaults, such as {@code CuFileConfig[properties.io_batchsize=64 (program)]}. */
    @Override
    public String toString() {
        return values.values().stream()
                .filter(value -> value.source() != ConfigSource.DEFAULT)
                .map(value -> "%s=%s (%s)".formatted(value.key(), value.value(), value.origin()))
                .collect(Collectors.joining(", ", "CuFileConfig[", "]"));
    }

    /** Collects the program's values and chooses the other sources. Not thread-safe. */
    public static final class Builder {
        private final Map<ConfigKey<?>, ConfigValue<?>> program = new LinkedHashMap<>();
        private ConfigSources sources = ConfigSources.ofProcess();
        private final @Nullable CuFileConfig base;

        private Builder() {
            this.base = null;
        }

        private Builder(CuFileConfig base) {
            this.base = base;
        }

        /**
         * Sets a value of the program.
         *
         * @param <T> type of the value
         * @param key the key
         * @param value the value, in {@link ConfigKey#unit}
         * @return this builder
         * @throws CuFileConfigException INVALID_VALUE (EINVAL) if it is not {@link ConfigKey#allowed()}
         */
        public <T> Builder set(ConfigKey<T> key, T value) {
            Objects.requireNonNull(value, key::name);
            T accepted = key.accept(value).orElseThrow(() -> CuFileConfigException.ofApi(key, value));
            program.put(key, ConfigValueParts.ofApi(key, accepted));
            return this;
        }

        /**
         * Sets a number of the program: {@code set(CuFileKeys.MAX_IO_THREADS, 8)}.
         *
         * @param key the key
         * @param value the value, in {@link ConfigKey#unit}
         * @return this builder
         * @throws CuFileConfigException INVALID_VALUE (EINVAL) if it is not {@link ConfigKey#allowed()}
         */
        public Builder set(ConfigKey<Long> key, long value) {
            return set(key, Long.valueOf(value));
        }

        /**
         * Sets the largest number of threads for the I/O of a driver: {@link CuFileKeys#MAX_IO_THREADS}.
         *
         * @param threads 0 to 32
         * @return this builder
         * @throws CuFileConfigException INVALID_VALUE (EINVAL) for another number
         */
        public Builder maxIoThreads(int threads) {
            return set(CuFileKeys.MAX_IO_THREADS, threads);
        }

        /**
         * Sets whether GPUDirect Storage may or must serve files. Sets {@link CuFileKeys#FORCE_COMPAT_MODE} and
         * {@link CuFileKeys#ALLOW_COMPAT_MODE}, so the value wins over environment and file.
         *
         * @param value the value
         * @return this builder
         */
        public Builder directStorage(DirectStorage value) {
            Objects.requireNonNull(value, "value");
            return set(CuFileKeys.FORCE_COMPAT_MODE, value == DirectStorage.OFF)
                    .set(CuFileKeys.ALLOW_COMPAT_MODE, value != DirectStorage.REQUIRE);
        }

        /**
         * Uses these variables instead of the environment of this process, {@code CUFILE_ENV_PATH_JSON} included.
         *
         * @param variables names and values
         * @return this builder
         */
        public Builder environment(Map<String, String> variables) {
            sources = sources.environment(variables);
            return this;
        }

        /**
         * Ignores environment and files: only the program's values and the defaults apply.
         *
         * @return this builder
         */
        public Builder withoutEnvironment() {
            sources = ConfigSources.NONE;
            return this;
        }

        /**
         * Reads this JSON file instead of the one that the environment names and of {@code /etc/cufile.json}.
         *
         * @param json the file; must exist when {@link #build} reads it
         * @return this builder
         */
        public Builder file(Path json) {
            sources = sources.file(json);
            return this;
        }

        /** Sets the file to read if neither the program nor the environment names one; for tests. */
        Builder systemFile(Path json) {
            sources = sources.systemFile(json);
            return this;
        }

        /**
         * Reads the sources, checks all values and logs warnings.
         *
         * @return the configuration
         * @throws CuFileConfigException for the first invalid value or broken rule between keys, with its place
         */
        public CuFileConfig build() {
            if (base != null) {
                Map<ConfigKey<?>, ConfigValue<?>> changed = new LinkedHashMap<>(base.values);
                changed.putAll(program);
                return new CuFileConfig(changed, base.unknown, base.warnings);
            }
            ConfigSources.Found found = sources.read();
            Map<ConfigKey<?>, ConfigValue<?>> all = new LinkedHashMap<>(found.values());
            all.putAll(program);
            CuFileConfig config = new CuFileConfig(all, found.unknown(), found.warnings());
            config.warnings.forEach(line -> System.getLogger("io.gds4j.config").log(Level.WARNING, line));
            return config;
        }
    }
}
