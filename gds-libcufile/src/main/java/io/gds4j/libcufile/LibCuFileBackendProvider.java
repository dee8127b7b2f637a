package io.gds4j.libcufile;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DirectStorage;
import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.engine.machine.ThisMachine;
import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cufile.LibCuFile;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.libcufile.process.LibraryProcess;
import io.gds4j.spi.Availability;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.spi.Machine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Provides NVIDIA's library, named {@code libcufile}; found by {@link java.util.ServiceLoader}.
 *
 * @since 0.1
 */
public final class LibCuFileBackendProvider implements CuFileBackendProvider {
    private static final int PRIORITY = 100;

    /** For the service loader. */
    public LibCuFileBackendProvider() {
    }

    @Override
    public String name() {
        return LibCuFileBackend.NAME;
    }

    @Override
    public int priority() {
        return PRIORITY;
    }

    /** Available where the library and a GPU are present, even if the library can only do POSIX I/O. */
    @Override
    public Availability probe(CuFileConfig config) {
        Optional<String> problem = FfmPosix.problem();
        if (problem.isPresent()) {
            return new Availability.Unavailable(
                    problem.get(), "change how or where the program starts", CuFileError.PLATFORM_NOT_SUPPORTED);
        }
        if (LibCuFile.locate() instanceof LibCuFile.NotFound(String reason)) {
            return new Availability.Unavailable(
                    reason, "install CUDA's cuFile, or name it by -D" + LibCuFile.PROPERTY);
        }
        Optional<String> obstacle = LibCuFile.obstacle();
        if (obstacle.isPresent()) {
            return new Availability.Unavailable(obstacle.get(), "run on a kernel with modules");
        }
        return switch (CudaDriver.detect()) {
            case CudaAvailability.Unavailable none -> new Availability.Unavailable(none.reason(), none.remedy());
            case CudaAvailability.Available gpu -> new Availability.Available();
        };
    }

    /**
     * Available where the library moves bytes directly between storage and GPU; elsewhere the compat backend is faster.
     */
    @Override
    public Availability probeForAuto(CuFileConfig config) {
        if (config.get(CuFileKeys.FORCE_COMPAT_MODE)) {
            return new Availability.Unavailable("properties.force_compat_mode is true", "set it to false");
        }
        if (DirectStorageProbe.probe(config) instanceof DirectStorageProbe.Lacking(String reason, String remedy)) {
            return new Availability.Unavailable(reason, remedy);
        }
        return probe(config);
    }

    @Override
    public CuFileBackend create(CuFileConfig config) {
        return create(config, false);
    }

    /** Creates a backend that refuses what it cannot serve directly. */
    @Override
    public CuFileBackend createForAuto(CuFileConfig config) {
        return create(config, true);
    }

    @Override
    public Optional<Machine> machine() {
        return Optional.of(new ThisMachine(SystemFiles.ofMachine()));
    }

    @Override
    public Optional<String> directObstacle(CuFileConfig config, Path path) {
        return directObstacles(config).apply(path);
    }

    @Override
    public Function<Path, Optional<String>> directObstacles(CuFileConfig config) {
        List<String> ofMachine = obstacles(config);
        return path -> {
            List<String> obstacles = new ArrayList<>(ofMachine);
            StatxResult status = FfmPosix.instance().statx(path.toString());
            if (status.error() == 0) {
                DirectStorageProbe.obstacle(status).ifPresent(obstacles::add);
            }
            return obstacles.isEmpty() ? Optional.empty() : Optional.of(String.join("; ", obstacles));
        };
    }

    private static List<String> obstacles(CuFileConfig config) {
        List<String> obstacles = new ArrayList<>();
        if (config.directStorage() == DirectStorage.OFF) {
            obstacles.add("properties.force_compat_mode is true");
        }
        if (LibCuFile.locate() instanceof LibCuFile.NotFound) {
            obstacles.add("libcufile is not found");
        }
        if (CudaDriver.detect() instanceof CudaAvailability.Unavailable) {
            obstacles.add("there is no GPU");
        }
        if (DirectStorageProbe.probe(config) instanceof DirectStorageProbe.Lacking(String reason, String remedy)) {
            obstacles.add(reason);
        }
        return obstacles;
    }

    private static CuFileBackend create(CuFileConfig config, boolean directOnly) {
        return new LibCuFileBackend(
                LibraryProcess.ofThisProcess(),
                config,
                directOnly,
                DirectStorageProbe.ofThisMachine(),
                FfmPosix.instance(),
                CudaDriver.detect());
    }
}
