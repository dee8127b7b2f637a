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
import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.engine.statistics.CountedDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cufile.CuFileFunction;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.libcufile.guard.LibraryPreconditions;
import io.gds4j.libcufile.process.LibraryProcess;
import io.gds4j.libcufile.process.LibrarySettings;
import io.gds4j.libcufile.process.LibraryTrait;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.memory.MemoryAllocator;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The part of {@link LibCuFileBackend} that concerns neither files nor transfers: opening and closing, the allocator, limits,
 * parameters, statistics, and the library's reports about itself.
 */
abstract class LibraryDriver extends CountedDriver<LibCuFileSession> {
    private static final String OPEN = "cuFileDriverOpen";

    private final LibraryProcess process;
    private final CuFileConfig config;
    private final boolean directOnly;
    private final DirectStorageProbe storage;
    private final Posix posix;
    private final CudaAvailability cuda;
    private final NativeMemoryAllocator allocator;

    private final Map<ConfigKey<?>, Object> staged = new LinkedHashMap<>();

    private @Nullable CudaContexts contexts;

    /** @param directOnly the library must refuse what it cannot serve directly */
    LibraryDriver(
            LibraryProcess process,
            CuFileConfig config,
            boolean directOnly,
            DirectStorageProbe storage,
            Posix posix,
            CudaAvailability cuda) {
        super(cuda);
        this.process = process;
        this.config = config;
        this.directOnly = directOnly;
        this.storage = storage;
        this.posix = posix;
        this.cuda = cuda;
        this.allocator = new NativeMemoryAllocator(posix, cuda);
    }

    @Override
    public final MemoryAllocator allocator() {
        return allocator;
    }

    // ---- opening and limits

    @Override
    protected final LibCuFileSession openSession() {
        LibrarySettings settings = settings();
        LibCuFileSession open = new LibCuFileSession(
                process, settings, config, storage, posix, contexts(), pathBytes, statistics);
        staged.clear();
        statistics.open(settings.get(CuFileKeys.PROFILE_CUFILE_STATS));
        allocator.open();
        return open;
    }

    @Override
    protected final void leave(LibCuFileSession last) {
        // the settings of the next open are staged while the driver is closed
    }

    @Override
    protected final void end(LibCuFileSession last) {
        try {
            last.close();
        } finally {
            allocator.close();
        }
    }

    @Override
    protected final CuFileException closed(String function) {
        return OpenLibrary.closed(function);
    }

    @Override
    protected final <T> T whileOpen(String function, Supplier<T> call) {
        return current(function).openLibrary().whileAlive(function, call);
    }

    /** Makes a call that needs the open library and belongs to no transfer. */
    private <T> T call(String function, Function<LibCuFileSession, T> call) {
        LibCuFileSession open = current(function);
        return open.openLibrary().whileAlive(function, () -> call.apply(open));
    }

    final void run(String function, Consumer<LibCuFileSession> call) {
        LibCuFileSession open = current(function);
        open.openLibrary().runWhileAlive(function, () -> call.accept(open));
    }

    /** Settings of the next open. */
    private LibrarySettings settings() {
        Map<ConfigKey<?>, Object> overrides = new LinkedHashMap<>(staged);
        if (directOnly) {
            overrides.put(CuFileKeys.ALLOW_COMPAT_MODE, false);
        }
        return LibrarySettings.of(config, overrides);
    }

    private CudaContexts contexts() {
        CudaContexts known = contexts;
        if (known == null) {
            known = switch (cuda) {
                case CudaAvailability.Available available -> available.contexts();
                case CudaAvailability.Unavailable none ->
                    throw CuFileException.of(
                            CuFileError.DRIVER_NOT_INITIALIZED,
                            OPEN,
                            "libcufile needs a GPU: %s (%s)".formatted(none.reason(), none.remedy()));
            };
            contexts = known;
        }
        return known;
    }

    @Override
    public DriverProperties driverGetProperties() {
        LibCuFileSession open = openImplicitly();
        return open.openLibrary().whileAlive("cuFileDriverGetProperties", () -> open.limits().properties());
    }

    @Override
    public void driverSetPollMode(boolean poll, long pollThresholdKb) {
        run("cuFileDriverSetPollMode", open -> open.limits().setPollMode(poll, pollThresholdKb));
    }

    @Override
    public void driverSetMaxDirectIoSize(long kb) {
        run("cuFileDriverSetMaxDirectIOSize", open -> open.setMaxDirectIoSize(kb));
    }

    @Override
    public void driverSetMaxCacheSize(long kb) {
        run("cuFileDriverSetMaxCacheSize", open -> open.limits().setMaxCacheSize(kb));
    }

    @Override
    public void driverSetMaxPinnedMemSize(long kb) {
        run("cuFileDriverSetMaxPinnedMemSize", open -> open.setMaxPinnedMemSize(kb));
    }

    // ---- version and parameters

    @Override
    public int getVersion() {
        return loaded().getVersion();
    }

    private CuFileLibrary loaded() {
        LibCuFileSession open = session();
        return open == null ? process.load(settings()) : open.library();
    }

    @Override
    public long getParameterSizeT(SizeParameter parameter) {
        LibCuFileSession open = session();
        if (parameter == SizeParameter.PROFILE_STATS && open != null) {
            return open.settings().get(CuFileKeys.PROFILE_CUFILE_STATS);
        }
        return parameter(parameter, library -> library.getParameterSizeT(parameter.index()), parameter.key());
    }

    @Override
    public boolean getParameterBool(BoolParameter parameter) {
        return parameter(parameter, library -> library.getParameterBool(parameter.index()), parameter.key());
    }

    @Override
    public String getParameterString(StringParameter parameter) {
        LibCuFileSession open = session();
        if (parameter == StringParameter.LOG_DIR && open != null) {
            // Without a configured folder the library logs to gds4j's temporary one.
            return open.openLibrary().settings().get(CuFileKeys.LOGGING_DIR);
        }
        String value =
                parameter(parameter, library -> library.getParameterString(parameter.index()), parameter.key());
        if (value.isEmpty() && parameter == StringParameter.ENV_LOGFILE_PATH) {
            throw CuFileException.invalid("cuFileGetParameterString", "CUFILE_LOGFILE_PATH is not set");
        }
        return value;
    }

    /** The value of the running library; while the driver is closed, the value that the next open will use. */
    private <T> T parameter(CuFileParameter parameter, Function<CuFileLibrary, T> running, ConfigKey<T> key) {
        LibCuFileSession open = session();
        if (open != null && LibraryTrait.hasParameter(open.library().version(), parameter)) {
            return open.openLibrary().whileAlive("cuFileGetParameter", () -> running.apply(open.library()));
        }
        if (open != null) {
            return open.settings().get(key);
        }
        synchronized (this) {
            return settings().get(key);
        }
    }

    @Override
    public void setParameterSizeT(SizeParameter parameter, long value) {
        stage("cuFileSetParameterSizeT", parameter.key(), value);
    }

    @Override
    public void setParameterBool(BoolParameter parameter, boolean value) {
        requireParameter("cuFileSetParameterBool", parameter);
        stage("cuFileSetParameterBool", parameter.key(), value);
    }

    @Override
    public void setParameterString(StringParameter parameter, String value) {
        requireParameter("cuFileSetParameterString", parameter);
        stage("cuFileSetParameterString", parameter.key(), value);
    }

    /** Refuses a parameter that came with a later version: the library would ignore it. */
    private void requireParameter(String function, CuFileParameter parameter) {
        if (parameter != BoolParameter.PROFILE_NVTX
                && session() == null
                && !LibraryTrait.hasParameter(loaded().version(), parameter)) {
            throw CuFileException.of(
                    CuFileError.IO_NOT_SUPPORTED,
                    function,
                    "%s needs cuFile 1.19, which %s is not".formatted(parameter.cName(), loaded().description()));
        }
    }

    private synchronized <T> void stage(String function, ConfigKey<T> key, T value) {
        if (session() != null) {
            throw CuFileException.of(
                    CuFileError.DRIVER_ALREADY_OPEN, function, "the driver is open: close it to set " + key.name());
        }
        // Refuses a value out of range; the library would accept it and replace it silently when it opens.
        CuFileConfig.builder().set(key, value);
        staged.put(key, value);
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
        LibCuFileSession open = session();
        if (open == null) {
            synchronized (this) {
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
        LibCuFileSession open = session();
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

    // ---- statistics

    /** Returns 0: the library does not report the size of its pools. */
    @Override
    public long peakStagingBytes() {
        return 0;
    }

    @Override
    public long getBarSizeInKb(int gpu) {
        if (gpu < 0 || gpu >= cuda.deviceCount()) {
            throw CuFileException.invalid(
                    "cuFileGetBARSizeInKB", "GPU is %s, allowed: 0 to %s".formatted(gpu, cuda.deviceCount() - 1));
        }
        return call("cuFileGetBARSizeInKB", open -> open.library().getBarSizeInKb(gpu));
    }

    // ---- later versions

    @Override
    public void driverSetP2pFlags(TargetType target, int flags) {
        LibraryPreconditions.p2pFlags(flags);
        run("cuFileDriverSetP2PFlags", open -> open.library().driverSetP2pFlags(target.number(), flags));
    }

    @Override
    public int driverGetP2pFlags(TargetType target) {
        return call("cuFileDriverGetP2PFlags", open -> open.library().driverGetP2pFlags(target.number()));
    }

    @Override
    public void exportPcieTopology(Path file) {
        loaded().exportPcieTopology(file.toAbsolutePath().toString());
    }
}
