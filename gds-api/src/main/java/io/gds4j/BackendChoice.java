package io.gds4j;

import io.gds4j.config.CuFileConfig;

/**
 * What a program asked for when it opened a driver.
 *
 * @param config the configuration
 * @param backend {@code auto} or the name of a backend
 */
record BackendChoice(CuFileConfig config, String backend) {
    /** Names no backend: the first that serves this machine opens. */
    static final String AUTO = "auto";

    boolean isAuto() {
        return backend.equals(AUTO);
    }
}
