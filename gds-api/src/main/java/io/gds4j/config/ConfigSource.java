package io.gds4j.config;

/**
 * Where a configuration value came from, strongest first.
 *
 * @since 0.1
 */
public enum ConfigSource {
    /** Set by the program. */
    API,
    /** An environment variable. */
    ENVIRONMENT,
    /** The JSON file. */
    FILE,
    /** Nobody set it. */
    DEFAULT
}
