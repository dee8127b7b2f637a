package io.gds4j.config;

/**
 * A parameter of {@code cuFileGetParameter*} and {@code cuFileSetParameter*}. Each stands for one key of cufile.json.
 *
 * @param <T> type of its value
 * @since 0.1
 */
public sealed interface CuFileParameter<T> permits SizeParameter, BoolParameter, StringParameter {
    /** {@return name of the constant} */
    String name();

    /** {@return number of the constant, from 0} */
    int ordinal();

    /** {@return value of its constant in the C enum, from 0} */
    default int index() {
        return ordinal();
    }

    /** {@return name of its C constant, such as {@code CUFILE_PARAM_EXECUTION_MAX_IO_THREADS}} */
    default String cName() {
        return "CUFILE_PARAM_" + name();
    }

    /** {@return the key it stands for} */
    default ConfigKey<T> key() {
        return CuFileKeys.of(this);
    }

    /** {@return the C function that returns its value, such as {@code cuFileGetParameterSizeT}} */
    default String getter() {
        return "cuFileGetParameter" + cType();
    }

    /** {@return the C function that sets its value, such as {@code cuFileSetParameterSizeT}} */
    default String setter() {
        return "cuFileSetParameter" + cType();
    }

    private String cType() {
        return this instanceof SizeParameter ? "SizeT" : this instanceof BoolParameter ? "Bool" : "String";
    }
}
