package io.gds4j.spi;

import io.gds4j.config.CuFileConfig;

/**
 * Makes backends; found by {@link java.util.ServiceLoader} with the class loader of this interface.
 *
 * @since 0.1
 */
public interface CuFileBackendProvider {
    /** Short name by which a program or {@code --backend} asks for it: {@code compat}, {@code libcufile}. */
    String name();

    /** The higher one is chosen among those that are available. */
    int priority();

    /** Says whether this machine can be served; never throws, opens no driver and creates no CUDA context. */
    Availability probe(CuFileConfig config);

    /** A backend whose driver is still closed (use count 0). */
    CuFileBackend create(CuFileConfig config);
}
