package io.gds4j.libcufile;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.ConfigKey;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.CuFileParameter;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.config.TargetType;
import io.gds4j.engine.lifecycle.DriverUses;
import io.gds4j.engine.statistics.CountedControls;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cufile.CuFileFunction;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.libcufile.guard.LibraryPreconditions;
import io.gds4j.libcufile.process.LibraryProcess;
import io.gds4j.libcufile.process.LibrarySettings;
import io.gds4j.libcufile.process.LibraryTrait;
import io.gds4j.statistics.EngineStatistics;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Limits, parameters, peer-to-peer flags, statistics and reports of the library for a {@link LibCuFileBackend}. */
final class LibraryControls extends CountedControls<LibCuFileSession> {
    static final String NAME = "libcufile";
    private final LibraryProcess process;
    private final CuFileConfig config;
    private final boolean directOnly;
    private final CudaAvailability cuda;

    /** Changed under the lock of the uses. */
    private final Map<ConfigKey<?>, Object> staged = new LinkedHashMap<>();

    /** @param directOnly the library must refuse what it cannot serve directly */
    LibraryControls(
            DriverUses<LibCuFileSession> uses,
            CuFileCounters statistics,
            PathCounters pathBytes,
            LibraryProcess process,
            CuFileConfig config,
            boolean directOnly,
            CudaAvailability cuda) {
        super(uses, statistics, pathBytes);
        this.process = process;
        this.config = config;
        this.directOnly = directOnly;
        this.cuda = cuda;
    }

    @Override
    public String name() {
        return NAME;
    }

    /** The library does not report the size of its pools. */
    @Override
    public EngineStatistics engineStatistics() {
        return EngineStatistics.of(pathBytes.snapshot(), 0, 0, 0, 0, "off");
    }

    /** A session with these settings is open. Called under the lock. */
    void opened(LibrarySettings settings) {
        staged.clear();
        statistics.open(settings.get(CuFileKeys.PROFILE_CUFILE_STATS));
    }

    /** The library does not close meanwhile. */
    @Override
    protected <T> T whileOpen(String function, Function<LibCuFileSession, T> call) {
        LibCuFileSession open = uses.current(function);
        return open.openLibrary().whileAlive(function, () -> call.apply(open));
    }

    /** Settings of the next open. */
    LibrarySettings settings() {
        Map<ConfigKey<?>, Object> overrides = new LinkedHashMap<>(staged);
        if (directOnly) {
            overrides.put(CuFileKeys.ALLOW_COMPAT_MODE, false);
        }
        return LibrarySettings.of(config, overrides);
    }

    @Override
    public DriverProperties driverGetProperties() {
        LibCuFileSession open = uses.openImplicitly();
        return open.openLibrary().whileAlive("cuFileDriverGetProperties", () -> open.limits().properties());
    }

    @Override
    public void driverSetPollMode(boolean poll, long pollThresholdKb) {
        runWhileOpen("cuFileDriverSetPollMode", open -> open.limits().setPollMode(poll, pollThresholdKb));
    }

    @Override
    public void driverSetMaxDirectIoSize(long kb) {
        runWhileOpen("cuFileDriverSetMaxDirectIOSize", open -> open.setMaxDirectIoSize(kb));
    }

    @Override
    public void driverSetMaxCacheSize(long kb) {
        runWhileOpen("cuFileDriverSetMaxCacheSize", open -> open.limits().setMaxCacheSize(kb));
    }

    @Override
    public void driverSetMaxPinnedMemSize(long kb) {
        runWhileOpen("cuFileDriverSetMaxPinnedMemSize", open -> open.setMaxPinnedMemSize(kb));
    }

    // ---- version and parameters

    @Override
    public int getVersion() {
        return loaded().getVersion();
    }

    private CuFileLibrary loaded() {
        LibCuFileSession open = uses.session();
        return open == null ? process.load(settings()) : open.library();
    }

    @Override
    public <T> T getParameter(CuFileParameter<T> parameter) {
        LibCuFileSession open = uses.session();
        ConfigKey<T> key = parameter.key();
        if (parameter == SizeParameter.PROFILE_STATS && open != null) {
            return open.settings().get(key);
        }
        if (parameter == StringParameter.LOG_DIR && open != null) {
            // Without a configured folder the library logs to gds4j's temporary one.
            return open.openLibrary().settings().get(key);
        }
        T value = value(open, parameter, key);
        if (parameter == StringParameter.ENV_LOGFILE_PATH && value.equals("")) {
            throw CuFileException.invalid(parameter.getter(), "CUFILE_LOGFILE_PATH is not set");
        }
        return value;
    }

    /** The value of the running library; while the driver is closed, the value that the next open will use. */
    private <T> T value(@Nullable LibCuFileSession open, CuFileParameter<T> parameter, ConfigKey<T> key) {
        if (open == null) {
            synchronized (uses) {
                return settings().get(key);
            }
        }
        if (!LibraryTrait.hasParameter(open.library().version(), parameter)) {
            return open.settings().get(key);
        }
        CuFileLibrary library = open.library();
        int index = parameter.index();
        return key.type().cast(open.openLibrary().whileAlive("cuFileGetParameter", () -> switch (parameter) {
            case SizeParameter ignored -> library.getParameterSizeT(index);
            case BoolParameter ignored -> library.getParameterBool(index);
            case StringParameter ignored -> library.getParameterString(index);
        }));
    }

    @Override
    public <T> void setParameter(CuFileParameter<T> parameter, T value) {
        if (!(parameter instanceof SizeParameter)) {
            requireParameter(parameter);
        }
        stage(parameter.setter(), parameter.key(), value);
    }

    /** Refuses a parameter that came with a later version: the library would ignore it. */
    private void requireParameter(CuFileParameter<?> parameter) {
        if (parameter != BoolParameter.PROFILE_NVTX
                && uses.session() == null
                && !LibraryTrait.hasParameter(loaded().version(), parameter)) {
            throw CuFileException.of(
                    CuFileError.IO_NOT_SUPPORTED,
                    parameter.setter(),
                    "%s needs cuFile 1.19, which %s is not".formatted(parameter.cName(), loaded().description()));
        }
    }

    private <T> void stage(String function, ConfigKey<T> key, T value) {
        synchronized (uses) {
            if (uses.session() != null) {
                throw CuFileException.of(
                        CuFileError.DRIVER_ALREADY_OPEN, function, "the driver is open: close it to set " + key.name());
            }
            // Refuses a value out of range; the library would accept it and replace it silently when it opens.
            CuFileConfig.builder().set(key, value);
            staged.put(key, value);
        }
    }

    @Override
    public ParameterRange getParameterMinMaxValue(SizeParameter parameter) {
        return loaded().getParameterMinMaxValue(parameter.index());
    }

    @Override
    public void setParameterPosixPoolSlabArray(SlabArray slabs) {
        String function = "cuFileSetParameterPosixPoolSlabArray";
        stage(function, CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, slabs.sizesKb());
        stage(function, CuFileKeys.POSIX_POOL_SLAB_COUNT, slabs.counts());
    }

    @Override
    public SlabArray getParameterPosixPoolSlabArray() {
        LibCuFileSession open = uses.session();
        if (open == null) {
            synchronized (uses) {
                return settings().posixPoolSlabs();
            }
        }
        int classes = open.openLibrary().settings().posixPoolSlabs().sizesKb().size();
        return open.openLibrary()
                .whileAlive(
                        "cuFileGetParameterPosixPoolSlabArray",
                        () -> open.library().getParameterPosixPoolSlabArray(classes));
    }

    @Override
    public void setParameterGpuBounceBufferSlabArray(SlabArray slabs) {
        String function = "cuFileSetParameterGpuBounceBufferSlabArray";
        requireLater(CuFileFunction.SET_PARAMETER_GPU_BOUNCE_BUFFER_SLAB_ARRAY);
        stage(function, CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_SIZE_KB, slabs.sizesKb());
        stage(function, CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_COUNT, slabs.counts());
    }

    @Override
    public SlabArray getParameterGpuBounceBufferSlabArray() {
        requireLater(CuFileFunction.GET_PARAMETER_GPU_BOUNCE_BUFFER_SLAB_ARRAY);
        LibCuFileSession open = uses.session();
        LibrarySettings now = open == null ? settings() : open.openLibrary().settings();
        if (now.gpuSlabClasses() == 0) {
            throw CuFileException.invalid("cuFileGetParameterGpuBounceBufferSlabArray",
                    "no slabs are configured: the GPU's bounce buffers are all of properties.per_buffer_cache_size_kb");
        }
        // Values that are set wait here until the next open.
        return open == null
                ? now.gpuSlabs()
                : open.openLibrary()
                        .whileAlive(
                                "cuFileGetParameterGpuBounceBufferSlabArray",
                                () -> open.library().getParameterGpuBounceBufferSlabArray(now.gpuSlabClasses()));
    }

    /** Refuses a function that the installed library lacks. */
    private void requireLater(CuFileFunction function) {
        CuFileLibrary library = loaded();
        if (!library.has(function)) {
            throw CuFileException.of(
                    CuFileError.IO_NOT_SUPPORTED,
                    function.cName(),
                    "needs cuFile %s, which %s is not".formatted(function.since(), library.description()));
        }
    }

    @Override
    public long getBarSizeInKb(int gpu) {
        if (gpu < 0 || gpu >= cuda.deviceCount()) {
            throw CuFileException.invalid(
                    "cuFileGetBARSizeInKB", "GPU is %s, allowed: 0 to %s".formatted(gpu, cuda.deviceCount() - 1));
        }
        return whileOpen("cuFileGetBARSizeInKB", open -> open.library().getBarSizeInKb(gpu));
    }

    // ---- later versions

    @Override
    public void driverSetP2pFlags(TargetType target, int flags) {
        LibraryPreconditions.p2pFlags(flags);
        runWhileOpen("cuFileDriverSetP2PFlags", open -> open.library().driverSetP2pFlags(target.number(), flags));
    }

    @Override
    public int driverGetP2pFlags(TargetType target) {
        return whileOpen("cuFileDriverGetP2PFlags", open -> open.library().driverGetP2pFlags(target.number()));
    }

    @Override
    public void exportPcieTopology(Path file) {
        loaded().exportPcieTopology(file.toAbsolutePath().toString());
    }
}
