package io.gds4j.config;

import java.util.List;
import java.util.Optional;

/**
 * A key of cufile.json, such as {@code execution.max_io_threads}, with its type, range, default and meaning. All keys are
 * constants of {@link CuFileKeys}. Immutable.
 *
 * <pre>{@code
 * long threads = config.get(CuFileKeys.MAX_IO_THREADS);
 * System.out.println(CuFileKeys.MAX_IO_THREADS.allowed());    // an integer, 0 to 128
 * }</pre>
 *
 * @param <T> Long, Boolean, String, List of Long, List of String, or {@link MountTable}
 * @since 0.1
 */
public final class ConfigKey<T> {
    private final KeyDefinition<T> definition;
    private final String description;

    /** @param definition changes no more */
    ConfigKey(KeyDefinition<T> definition, String description) {
        this.definition = definition;
        this.description = description;
    }

    /** {@return dotted path in the file, or the variable's name if the file cannot set it} */
    public String name() {
        return definition.name;
    }

    /** {@return class of the value} */
    public Class<T> type() {
        return definition.type.valueClass();
    }

    /**
     * Returns the value that applies if no source sets one: that of the cufile.json of cuFile 1.15.
     *
     * @return the default, in {@link #unit}
     */
    public T defaultValue() {
        return definition.defaultValue;
    }

    /** {@return meaning of the key, in one line} */
    public String description() {
        return description;
    }

    /**
     * Describes the allowed values, such as {@code an integer, 0 to 128}.
     *
     * @return type and range in words
     */
    public String allowed() {
        return definition.constraint.allowed();
    }

    /**
     * Tests a value.
     *
     * @param value the value
     * @return true if it is {@link #allowed()}
     */
    public boolean accepts(T value) {
        return accept(value).isPresent();
    }

    /**
     * Returns smallest and largest value of a number.
     *
     * @return the range, in {@link #unit}; empty for other types
     */
    public Optional<ParameterRange> range() {
        return definition.constraint.range();
    }

    /**
     * Returns the unit of a number.
     *
     * @return {@code KiB}, {@code MiB}, {@code ms} or {@code s}; an empty string for counts and other types
     */
    public String unit() {
        return definition.unit;
    }

    /** {@return names of the environment variables that set the key, usually none or one} */
    public List<String> environmentVariables() {
        return definition.variables.stream().map(EnvironmentVariable::name).toList();
    }

    /** {@return its parameter of {@code cuFileGetParameter*} and {@code cuFileSetParameter*}; empty if it has none} */
    public Optional<CuFileParameter<?>> parameter() {
        return Optional.ofNullable(definition.parameter);
    }

    /**
     * Returns whether the key has an effect in compat mode, of gds4j or of libcufile. Others need nvidia-fs, p2pdma or RDMA.
     *
     * @return true if it has an effect in compat mode
     */
    public boolean appliesToCompat() {
        return definition.compat;
    }

    /** {@return whether gds4j's own engine uses the key; libcufile uses all keys of cufile.json} */
    public boolean usedByEngine() {
        return definition.engine;
    }

    /**
     * Returns the first version of cuFile with this key.
     *
     * @return the version; {@code 1.15} also for all earlier ones
     */
    public String since() {
        return definition.since;
    }

    /** {@return false if only the environment or the program can set the key} */
    public boolean inFile() {
        return definition.inFile;
    }

    ValueType<T> valueType() {
        return definition.type;
    }

    List<EnvironmentVariable<T>> variables() {
        return List.copyOf(definition.variables);
    }

    /** Returns the value in its canonical form; empty if it is not allowed. */
    Optional<T> accept(T value) {
        return definition.constraint.accept(definition.type.copy().apply(value));
    }

    @Override
    public String toString() {
        return definition.name;
    }
}
