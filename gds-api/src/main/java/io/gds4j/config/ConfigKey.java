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
    private final String name;
    private final ValueType<T> type;
    private final T defaultValue;
    private final Constraint<T> constraint;
    private final String unit;
    private final List<EnvironmentVariable<T>> variables;
    private final Optional<CuFileParameter> parameter;
    private final boolean compat;
    private final boolean engine;
    private final String since;
    private final boolean inFile;
    private final String description;

    ConfigKey(KeyDefinition<T> definition, String description) {
        this.name = definition.name;
        this.type = definition.type;
        this.defaultValue = definition.defaultValue;
        this.constraint = definition.constraint;
        this.unit = definition.unit;
        this.variables = List.copyOf(definition.variables);
        this.parameter = Optional.ofNullable(definition.parameter);
        this.compat = definition.compat;
        this.engine = definition.engine;
        this.since = definition.since;
        this.inFile = definition.inFile;
        this.description = description;
    }

    /** {@return dotted path in the file, or the variable's name if the file cannot set it} */
    public String name() {
        return name;
    }

    /** {@return class of the value} */
    public Class<T> type() {
        return type.valueClass();
    }

    /**
     * Returns the value that applies if no source sets one: that of the cufile.json of cuFile 1.15.
     *
     * @return the default, in {@link #unit}
     */
    public T defaultValue() {
        return defaultValue;
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
        return constraint.allowed();
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
        return constraint.range();
    }

    /**
     * Returns the unit of a number.
     *
     * @return {@code KiB}, {@code MiB}, {@code ms} or {@code s}; an empty string for counts and other types
     */
    public String unit() {
        return unit;
    }

    /** {@return names of the environment variables that set the key, usually none or one} */
    public List<String> environmentVariables() {
        return variables.stream().map(EnvironmentVariable::name).toList();
    }

    /** {@return its parameter of {@code cuFileGetParameter*} and {@code cuFileSetParameter*}; empty if it has none} */
    public Optional<CuFileParameter> parameter() {
        return parameter;
    }

    /**
     * Returns whether the key has an effect in compat mode, of gds4j or of libcufile. Others need nvidia-fs, p2pdma or RDMA.
     *
     * @return true if it has an effect in compat mode
     */
    public boolean appliesToCompat() {
        return compat;
    }

    /** {@return whether gds4j's own engine uses the key; libcufile uses all keys of cufile.json} */
    public boolean usedByEngine() {
        return engine;
    }

    /**
     * Returns the first version of cuFile with this key.
     *
     * @return the version; {@code 1.15} also for all earlier ones
     */
    public String since() {
        return since;
    }

    /** {@return false if only the environment or the program can set the key} */
    public boolean inFile() {
        return inFile;
    }

    ValueType<T> valueType() {
        return type;
    }

    List<EnvironmentVariable<T>> variables() {
        return variables;
    }

    /** Returns the value in its canonical form; empty if it is not allowed. */
    Optional<T> accept(T value) {
        return constraint.accept(type.copy().apply(value));
    }

    @Override
    public String toString() {
        return name;
    }
}
