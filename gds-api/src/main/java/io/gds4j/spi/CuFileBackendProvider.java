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

    /**
     * Says whether it should serve where nobody asked for a backend by name: like {@link #probe}, but a backend may leave to
     * those of lower rank what it could serve and they serve better.
     *
     * @param config the configuration
     * @return Available, or why not
     */
    default Availability probeForAuto(CuFileConfig config) {
        return probe(config);
    }

    /**
     * Like {@link #create}, where nobody asked for a backend by name and another one stands behind it: a backend may refuse,
     * at {@link CuFileBackend#handleRegister}, files that the other one serves better.
     *
     * @param config the configuration
     * @return the backend
     */
    default CuFileBackend createForAuto(CuFileConfig config) {
        return create(config);
    }
}
