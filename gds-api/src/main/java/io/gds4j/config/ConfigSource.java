package io.gds4j.config;

/**
 * The origin of a configuration value, strongest first.
 *
 * @since 0.1
 */
public enum ConfigSource {
    /** The program: {@link CuFileConfig.Builder#set}. */
    API,
    /** An environment variable. */
    ENVIRONMENT,
    /** The JSON file. */
    FILE,
    /** The default: no other source sets the key. */
    DEFAULT
}
