package io.gds4j.spi;

import io.gds4j.config.CuFileConfig;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Function;

/**
 * Makes backends. {@link java.util.ServiceLoader} finds providers with the class loader of this interface. Where a jar of many
 * jars kept only one service file, our own two providers are found by name, with a warning in the log.
 *
 * @since 0.1
 */
public interface CuFileBackendProvider {
    /** {@return the short name with which a program or {@code --backend} requests it, such as {@code compat}} */
    String name();

    /** {@return its rank: the available provider with the highest rank is chosen} */
    int priority();

    /**
     * Begins, on a thread of its own, what takes long and what a driver needs with any configuration, such as loading a library. Called
     * before the configuration is read; returns at once, never throws.
     *
     * @return waits until that is over; called if no driver opens, because a process that ends meanwhile might crash
     */
    default Runnable anticipate() {
        return () -> {
        };
    }

    /**
     * Tells whether the backend can serve on this machine; never throws, opens no driver and creates no CUDA context.
     *
     * @param config the configuration
     * @return Available, or why not
     */
    Availability probe(CuFileConfig config);

    /**
     * Makes a backend whose driver is closed (use count 0).
     *
     * @param config the configuration
     * @return the backend
     */
    CuFileBackend create(CuFileConfig config);

    /**
     * Tells whether the backend should serve if no backend is requested by name. Differs from {@link #probe} if a backend of
     * lower rank serves this machine better.
     *
     * @param config the configuration
     * @return Available, or why not
     */
    default Availability probeForAuto(CuFileConfig config) {
        return probe(config);
    }

    /**
     * Makes a backend if none is requested by name and a second one is available. {@link CuFileBackend#handleRegister} may
     * refuse files that the second one serves better.
     *
     * @param config the configuration
     * @return the backend
     */
    default CuFileBackend createForAuto(CuFileConfig config) {
        return create(config);
    }

    /**
     * Returns what the backend can find out about this machine, for {@code CuFileDriver.diagnose}.
     *
     * @return the machine; empty if the backend examines none
     */
    default Optional<Machine> machine() {
        return Optional.empty();
    }

    /**
     * Tells why this backend does not serve a path by GPUDirect Storage, for {@code CuFileDriver.diagnose}. Opens no driver.
     *
     * @param config the configuration
     * @param path an existing file, folder or block device
     * @return all known reasons; empty if none is known, or if the backend has no GPUDirect Storage at all
     */
    default Optional<String> directObstacle(CuFileConfig config, Path path) {
        return Optional.empty();
    }

    /**
     * Returns what answers {@link #directObstacle} for many paths. A backend whose reasons include some of the machine looks for those
     * once.
     *
     * @param config the configuration
     * @return tells the reasons for a path
     */
    default Function<Path, Optional<String>> directObstacles(CuFileConfig config) {
        return path -> directObstacle(config, path);
    }
}
