package io.gds4j.libcufile;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.cufile.FakeCuFile;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.libcufile.process.LibraryProcess;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.statistics.IoPath;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** A machine with doubles of one GPU and of libcufile, without direct storage, and backends on it. */
public final class FakeMachine {
    public final FakeCuda cuda;
    public final FakeCuFile fake;
    public final LibraryProcess process;
    private final Posix posix;
    private DirectStorageProbe storage = new DirectStorageProbe(Path.of("/nothing"));

    public FakeMachine() {
        this(new FakeCuda(), false);
    }

    /** @param later with the functions that came after cuFile 1.15 */
    public FakeMachine(boolean later) {
        this(new FakeCuda(), later);
    }

    /** Makes a machine with two GPUs. */
    public static FakeMachine withTwoGpus() {
        return new FakeMachine(new FakeCuda(2, 64L << 20), false);
    }

    private FakeMachine(FakeCuda cuda, boolean later) {
        this(cuda, later, FfmPosix.instance(), library -> library);
    }

    /**
     * @param later with the functions that came after cuFile 1.15
     * @param posix system calls of the backends
     * @param seam stands between the backends and the double of libcufile
     */
    public FakeMachine(FakeCuda cuda, boolean later, Posix posix, UnaryOperator<CuFileLibrary> seam) {
        this.cuda = cuda;
        this.posix = posix;
        FakeCuFile made = new FakeCuFile(cuda);
        this.fake = later ? made.withLaterFunctions() : made;
        this.process = new LibraryProcess(() -> seam.apply(fake.library()), posix, Map.of());
    }

    /** Makes the machine move bytes directly between the GPU and every file from now on. */
    public FakeMachine withDirectStorage() {
        storage = new DirectStorageProbe(Path.of("/nothing")) {
            @Override
            Verdict machine(CuFileConfig config) {
                return new Works(IoPath.NVFS, "nvidia-fs is loaded");
            }

            @Override
            Optional<String> obstacleOf(StatxResult file) {
                return Optional.empty();
            }
        };
        fake.transfers().serveDirectly();
        return this;
    }

    public CuFileBackend backend() {
        return backend(CuFileConfig.defaults());
    }

    public CuFileBackend backend(CuFileConfig config) {
        return backend(config, false);
    }

    /** @param directOnly one that refuses what it cannot serve directly */
    public CuFileBackend backend(CuFileConfig config, boolean directOnly) {
        return backend(config, directOnly, cuda.available());
    }

    /** Returns a backend that finds this driver instead of the machine's. */
    public CuFileBackend backend(CudaAvailability driver) {
        return backend(CuFileConfig.defaults(), driver);
    }

    /** Returns a backend that finds this driver instead of the machine's. */
    public CuFileBackend backend(CuFileConfig config, CudaAvailability driver) {
        return backend(config, false, driver);
    }

    private CuFileBackend backend(CuFileConfig config, boolean directOnly, CudaAvailability driver) {
        return new LibCuFileBackend(process, config, directOnly, storage, posix, driver);
    }
}
