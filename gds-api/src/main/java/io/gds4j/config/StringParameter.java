package io.gds4j.config;

/**
 * Texts of {@code cuFileGetParameterString} and {@code cuFileSetParameterString} ({@code CUFileStringConfigParameter_t}),
 * in the order of the C enum.
 *
 * @since 0.1
 */
public enum StringParameter {
    LOGGING_LEVEL,
    ENV_LOGFILE_PATH,
    LOG_DIR
}
