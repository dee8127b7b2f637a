package io.gds4j;

import io.gds4j.config.CuFileConfig;

/**
 * What a program asked for when it opened a driver.
 *
 * @param config the configuration
 * @param backend {@code auto} or the name of a backend
 */
record BackendChoice(CuFileConfig config, String backend) {
    boolean isAuto() {
        return backend.equals(Backends.AUTO);
    }
}
