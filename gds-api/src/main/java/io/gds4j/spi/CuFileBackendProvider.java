package io.gds4j.spi;

import io.gds4j.config.CuFileConfig;

/**
 * Makes backends; found by {@link java.util.ServiceLoader} with the class loader of this interface.
 *
 * @since 0.1
 */
public interface CuFileBackendProvider {
    /** {@return the short name by which a program or {@code --backend} asks for it, such as {@code compat}} */
    String name();

    /** {@return its rank: among those that are available the highest is chosen} */
    int priority();

    /**
     * Says whether this machine can be served; never throws, opens no driver and creates no CUDA context.
     *
     * @param config the configuration
     * @return Available, or why not
     */
    Availability probe(CuFileConfig config);

    /**
     * A backend whose driver is still closed (use count 0).
     *
     * @param config the configuration
     * @return the backend
     */
    CuFileBackend create(CuFileConfig config);
}
