package io.gds4j.config;

/**
 * A parameter of {@code cuFileGetParameter*} and {@code cuFileSetParameter*}: a key of cufile.json by number.
 *
 * @since 0.1
 */
public sealed interface CuFileParameter permits SizeParameter, BoolParameter, StringParameter {
    /** Its number within its C enum. */
    int index();

    /** Its C name, such as {@code CUFILE_PARAM_EXECUTION_MAX_IO_THREADS}. */
    String cName();

    /** The key it stands for. */
    ConfigKey<?> key();
}
