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
 * The configuration of one driver session: immutable, every value with its source.
 *
 * <pre>{@code
 * CuFileConfig config = CuFileConfig.builder().set(CuFileKeys.MAX_IO_THREADS, 8L).build();
 * config.get(CuFileKeys.MAX_IO_THREADS);            // 8
 * config.source(CuFileKeys.MAX_IO_THREADS);         // API
 * config.value(CuFileKeys.IO_BATCHSIZE).origin();   // /etc/cufile.json:31
 * }</pre>
 *
 * <p>
 * Precedence, strongest first: the program ({@link Builder#set}), the environment ({@code CUFILE_*}), the JSON file (the one
 * that {@code CUFILE_ENV_PATH_JSON} names, else {@code /etc/cufile.json}), the defaults. Whatever is set is checked, also
 * where a stronger source overrides it. Comments are allowed in the file. A key that nobody knows is kept, logged once and
 * has no effect. No {@code /etc/cufile.json}: the defaults hold. No file where {@code CUFILE_ENV_PATH_JSON} points: a warning
 * is logged and the defaults hold, as in libcufile. A variable that is set to nothing counts as not set.
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
            all.put(key, value == null ? ConfigValue.ofDefault(key) : value);
        }
        this.values = all;
        this.unknown = List.copyOf(unknown);
        this.warnings = List.copyOf(warnings);
        CrossKeyRules.check(this);
    }

    /**
     * The environment of this process, the JSON file it names or {@code /etc/cufile.json}, and the defaults.
     *
     * @return the configuration
     * @throws CuFileConfigException for anything that is not as it should be, with its place
     */
    public static CuFileConfig load() {
        return builder().build();
    }

    /**
     * Like {@link #load()}, with these variables in place of the environment of this process.
     *
     * @param environment names and values of variables
     * @return the configuration
     * @throws CuFileConfigException for anything that is not as it should be, with its place
     */
    public static CuFileConfig load(Map<String, String> environment) {
        return builder().environment(environment).build();
    }

    /** {@return the defaults alone, whatever environment and files say} */
    public static CuFileConfig defaults() {
        return builder().withoutEnvironment().build();
    }

    /**
     * Begins a configuration in which the program's own values win over environment, file and defaults.
     *
     * @return a builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Begins a configuration that is this one but for what the builder sets; neither environment nor file is read again.
     *
     * @return a builder
     */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /**
     * The value that holds.
     *
     * @param <T> type of the value
     * @param key the key
     * @return the value
     */
    public <T> T get(ConfigKey<T> key) {
        return value(key).value();
    }

    /**
     * Where {@link #get}'s value came from.
     *
     * @param key the key
     * @return who set it
     */
    public ConfigSource source(ConfigKey<?> key) {
        return value(key).source();
    }

    /**
     * The value that holds, with all that is known about where it came from.
     *
     * @param <T> type of the value
     * @param key the key
     * @return value and origin
     */
    @SuppressWarnings("unchecked")
    public <T> ConfigValue<T> value(ConfigKey<T> key) {
        return (ConfigValue<T>) values.get(Objects.requireNonNull(key, "key"));
    }

    /** {@return every value, in the order of the file} */
    public List<ConfigValue<?>> values() {
        return List.copyOf(values.values());
    }

    /** {@return keys of the file that cuFile does not know, in the order of the file} */
    public List<UnknownKey> unknownKeys() {
        return unknown;
    }

    /** {@return what was logged when this configuration was made, one line each} */
    public List<String> warnings() {
        return warnings;
    }

    /** {@return whether POSIX I/O may or must serve} */
    public CompatMode compatMode() {
        if (get(CuFileKeys.FORCE_COMPAT_MODE)) {
            return CompatMode.FORCED;
        }
        return get(CuFileKeys.ALLOW_COMPAT_MODE) ? CompatMode.ALLOWED : CompatMode.REFUSED;
    }

    /** {@return the host bounce-buffer slabs, of {@code properties.posix_pool_slab_size_kb} and {@code .._count}} */
    public SlabArray posixPoolSlabs() {
        return new SlabArray(get(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB), get(CuFileKeys.POSIX_POOL_SLAB_COUNT));
    }

    /** The values that somebody set, such as {@code CuFileConfig[properties.io_batchsize=64 (program)]}. */
    @Override
    public String toString() {
        return values.values().stream()
                .filter(value -> value.source() != ConfigSource.DEFAULT)
                .map(value -> "%s=%s (%s)".formatted(value.key(), value.value(), value.origin()))
                .collect(Collectors.joining(", ", "CuFileConfig[", "]"));
    }

    /** Collects values set by the program and where the rest comes from; not thread-safe. */
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
         * Sets a value.
         *
         * @param <T> type of the value
         * @param key the key
         * @param value the value
         * @return this builder
         * @throws CuFileConfigException INVALID_VALUE if it is not {@link ConfigKey#allowed()}
         */
        public <T> Builder set(ConfigKey<T> key, T value) {
            Objects.requireNonNull(value, key::name);
            T accepted = key.accept(value).orElseThrow(() -> CuFileConfigException.ofApi(key, value));
            program.put(key, ConfigValue.ofApi(key, accepted));
            return this;
        }

        /**
         * Takes these variables in place of the environment of this process; {@code CUFILE_ENV_PATH_JSON} among them.
         *
         * @param variables names and values
         * @return this builder
         */
        public Builder environment(Map<String, String> variables) {
            sources = sources.environment(variables);
            return this;
        }

        /**
         * Takes neither environment nor file: the program's values and the defaults alone.
         *
         * @return this builder
         */
        public Builder withoutEnvironment() {
            sources = ConfigSources.NONE;
            return this;
        }

        /**
         * Reads this JSON file in place of the one that the environment names and of {@code /etc/cufile.json}. It must be
         * there.
         *
         * @param json the file
         * @return this builder
         */
        public Builder file(Path json) {
            sources = sources.file(json);
            return this;
        }

        /** Where to look when neither the program nor the environment names a file. */
        Builder systemFile(Path json) {
            sources = sources.systemFile(json);
            return this;
        }

        /**
         * The configuration.
         *
         * @return the configuration
         * @throws CuFileConfigException for anything that is not as it should be, with its place
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
