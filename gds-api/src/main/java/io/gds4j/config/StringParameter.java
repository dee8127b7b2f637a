package io.gds4j.config;

/**
 * A text parameter of {@code cuFileGetParameterString} and {@code cuFileSetParameterString}
 * ({@code CUFileStringConfigParameter_t}), in the order of the C enum.
 *
 * @since 0.1
 */
public enum StringParameter implements CuFileParameter<String> {
    /** {@code logging.level}. */
    LOGGING_LEVEL,
    /** The variable {@code CUFILE_LOGFILE_PATH}; INVALID_VALUE if it is not set. */
    ENV_LOGFILE_PATH,
    /** {@code logging.dir}. */
    LOG_DIR,
    /** {@code properties.rdma_transport_type}; from cuFile 1.19 on. */
    RDMA_TRANSPORT
}
