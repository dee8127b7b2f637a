package io.gds4j.config;

/**
 * A parameter of {@code cuFileGetParameter*} and {@code cuFileSetParameter*}. Each stands for one key of cufile.json.
 *
 * @since 0.1
 */
public sealed interface CuFileParameter permits SizeParameter, BoolParameter, StringParameter {
    /** {@return value of its constant in the C enum, from 0} */
    int index();

    /** {@return name of its C constant, such as {@code CUFILE_PARAM_EXECUTION_MAX_IO_THREADS}} */
    String cName();

    /** {@return the key it stands for} */
    ConfigKey<?> key();
}
