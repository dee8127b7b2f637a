package io.gds4j.config;

/**
 * A parameter of {@code cuFileGetParameter*} and {@code cuFileSetParameter*}: a key of cufile.json by number.
 *
 * @since 0.1
 */
public sealed interface CuFileParameter permits SizeParameter, BoolParameter, StringParameter {
    /** {@return its number within its C enum} */
    int index();

    /** {@return its C name, such as {@code CUFILE_PARAM_EXECUTION_MAX_IO_THREADS}} */
    String cName();

    /** {@return the key it stands for} */
    ConfigKey<?> key();
}
