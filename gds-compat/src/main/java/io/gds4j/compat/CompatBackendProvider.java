package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.engine.machine.ThisMachine;
import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.spi.Availability;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.spi.Machine;
import java.util.Optional;

/**
 * Provides the POSIX backend, named {@code compat}; found by {@link java.util.ServiceLoader}.
 *
 * @since 0.1
 */
public final class CompatBackendProvider implements CuFileBackendProvider {
    /** For the service loader. */
    public CompatBackendProvider() {
    }

    @Override
    public String name() {
        return CompatBackend.NAME;
    }

    @Override
    public int priority() {
        return 0;
    }

    @Override
    public Runnable anticipate() {
        return CudaDriver.begin();
    }

    @Override
    public Availability probe(CuFileConfig config) {
        Optional<String> problem = FfmPosix.problem();
        if (problem.isPresent()) {
            return new Availability.Unavailable(
                    problem.get(), "change how or where the program starts", CuFileError.PLATFORM_NOT_SUPPORTED);
        }
        if (!config.get(CuFileKeys.ALLOW_COMPAT_MODE) && !config.get(CuFileKeys.FORCE_COMPAT_MODE)) {
            return new Availability.Unavailable(
                    "properties.allow_compat_mode is false", "set it, or properties.force_compat_mode, to true");
        }
        return new Availability.Available();
    }

    @Override
    public CuFileBackend create(CuFileConfig config) {
        return new CompatBackend(config, FfmPosix.instance(), CudaDriver.detect());
    }

    @Override
    public Optional<Machine> machine() {
        return Optional.of(new ThisMachine(SystemFiles.ofMachine()));
    }
}
