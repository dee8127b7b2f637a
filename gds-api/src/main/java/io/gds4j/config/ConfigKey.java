package io.gds4j.config;

import java.util.List;
import java.util.Optional;

/**
 * One key of cufile.json, such as {@code execution.max_io_threads}, with all that is known about it. The constants stand in
 * {@link CuFileKeys}; there are no others.
 *
 * <pre>{@code
 * long threads = config.get(CuFileKeys.MAX_IO_THREADS);
 * System.out.println(CuFileKeys.MAX_IO_THREADS.allowed());    // an integer, 0 to 32
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
        this.since = definition.since;
        this.inFile = definition.inFile;
        this.description = description;
    }

    /** {@return dotted path in the file; the variable's name for what only the environment can set} */
    public String name() {
        return name;
    }

    /** {@return class of the value} */
    public Class<T> type() {
        return type.valueClass();
    }

    /**
     * What holds when nobody sets it: the value of the cufile.json that comes with cuFile 1.15.
     *
     * @return the default
     */
    public T defaultValue() {
        return defaultValue;
    }

    /** {@return one line on what it does} */
    public String description() {
        return description;
    }

    /**
     * Type and range in words, such as {@code an integer, 0 to 32}.
     *
     * @return a phrase
     */
    public String allowed() {
        return constraint.allowed();
    }

    /**
     * True for a value that is {@link #allowed()}.
     *
     * @param value the value
     * @return whether it is allowed
     */
    public boolean accepts(T value) {
        return accept(value).isPresent();
    }

    /**
     * Both ends of what a number may be; empty for other types.
     *
     * @return the range
     */
    public Optional<ParameterRange> range() {
        return constraint.range();
    }

    /**
     * What a number counts: {@code KiB}, {@code MiB}, {@code ms}, {@code s}; empty for other types and plain counts.
     *
     * @return the unit
     */
    public String unit() {
        return unit;
    }

    /** {@return names of the environment variables that set it, usually none or one} */
    public List<String> environmentVariables() {
        return variables.stream().map(EnvironmentVariable::name).toList();
    }

    /** {@return the parameter by which {@code cuFileGetParameter*} and {@code cuFileSetParameter*} name it} */
    public Optional<CuFileParameter> parameter() {
        return parameter;
    }

    /**
     * True if it has a meaning in compat mode; the others matter only where nvidia-fs, p2pdma or RDMA work.
     *
     * @return whether compat mode cares
     */
    public boolean appliesToCompat() {
        return compat;
    }

    /**
     * cuFile's version that knows it: {@code 1.15} for this one and all before it.
     *
     * @return the version
     */
    public String since() {
        return since;
    }

    /** {@return false for what only the environment or the program can set} */
    public boolean inFile() {
        return inFile;
    }

    ValueType<T> valueType() {
        return type;
    }

    List<EnvironmentVariable<T>> variables() {
        return variables;
    }

    /** The value in its canonical form; empty if it is not allowed. */
    Optional<T> accept(T value) {
        return constraint.accept(type.copy().apply(value));
    }

    @Override
    public String toString() {
        return name;
    }
}
