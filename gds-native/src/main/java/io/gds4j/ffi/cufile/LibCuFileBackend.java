package io.gds4j.ffi.cufile;

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
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.memory.NativeMemoryAllocator;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.statistics.PathCounters;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.StreamRequest;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * cuFile by NVIDIA's library: each function a few lines over the {@link LibCuFileSession} of the open driver, with its
 * {@link Guards} before it.
 *
 * <p>
 * A session of its own, as the contract wants it, on a library that the process has once: limits, parameters and statistics
 * are those of the library, hence of all sessions.
 */
final class LibCuFileBackend implements CuFileBackend {
    static final String NAME = "libcufile";

    private final LibraryProcess process;
    private final CuFileConfig config;
    private final DirectStorage storage;
    private final Posix posix;
    private final CudaAvailability cuda;
    private final MemoryAllocator allocator;
    private final PathCounters counters = new PathCounters();
    private final boolean directOnly;
    private final Map<ConfigKey<?>, Object> staged = new LinkedHashMap<>();

    private volatile @Nullable LibCuFileSession session;
    private @Nullable CudaContexts contexts;
    private long users;

    /**
     * @param directOnly the library must refuse what it cannot serve directly, since another backend serves that better
     */
    LibCuFileBackend(
            LibraryProcess process,
            CuFileConfig config,
            boolean directOnly,
            DirectStorage storage,
            Posix posix,
            CudaAvailability cuda) {
        this.process = process;
        this.config = config;
        this.storage = storage;
        this.posix = posix;
        this.cuda = cuda;
        this.allocator = new NativeMemoryAllocator(posix, cuda);
        this.directOnly = directOnly;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public MemoryAllocator allocator() {
        return allocator;
    }

    @Override
    public Map<IoPath, Long> bytesByPath() {
        return counters.snapshot();
    }

    /** Unknown: the library does not tell what its pools hold. */
    @Override
    public long peakStagingBytes() {
        return 0;
    }

    // ---- handles, buffers, synchronous I/O

    @Override
    public BackendFile handleRegister(FileSource source) {
        return openImplicitly().register(source);
    }

    @Override
    public void handleDeregister(BackendFile file) {
        if (file instanceof LibraryFile ours) {
            LibCuFileSession open = session;
            if (open == ours.session()) {
                open.deregister(ours);
            }
        }
    }

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        openImplicitly().register(range, flags);
    }

    @Override
    public void bufRegisterNow(MemoryRange range, int flags) {
        openImplicitly().registerNow(range, flags);
    }

    @Override
    public void bufDeregister(MemoryRange range) {
        LibCuFileSession open = session;
        if (open == null) {
            throw CuFileException.of(CuFileError.DRIVER_CLOSING, "cuFileBufDeregister", "the driver is closed");
        }
        open.opening().runWhileAlive("cuFileBufDeregister", () -> open.deregister(range));
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return transfer("cuFileRead", false, file, base, size, fileOffset, bufferOffset);
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return transfer("cuFileWrite", true, file, base, size, fileOffset, bufferOffset);
    }

    private long transfer(
            String function,
            boolean write,
            BackendFile file,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset) {
        LibraryFile ours = enter(function, file);
        try {
            Guards.transfer(function, ours, base, size, fileOffset, bufferOffset);
            Guards.accessMode(function, ours, write, size, fileOffset);
            return size == 0 ? 0 : ours.session().transfer(ours, write, base, size, fileOffset, bufferOffset);
        } finally {
            ours.exit();
        }
    }

    /** A file of the open session; the caller exits it. */
    private LibraryFile enter(String function, BackendFile file) {
        LibraryFile ours = own(function, file);
        if (!ours.enter()) {
            // The driver may have closed between the two looks.
            throw session == ours.session() ? ours.refused(function) : LibCuFileSession.closed(function);
        }
        return ours;
    }

    private LibraryFile own(String function, BackendFile file) {
        LibCuFileSession open = session;
        if (open == null) {
            throw LibCuFileSession.closed(function);
        }
        if (file instanceof LibraryFile ours && ours.session() == open) {
            return ours;
        }
        throw CuFileException.of(
                CuFileError.HANDLE_NOT_REGISTERED, function, "not a file of this driver session: " + file);
    }

    // ---- driver

    @Override
    public synchronized void driverOpen() {
        if (session == null) {
            session = new LibCuFileSession(process, settings(), config, storage, posix, contexts(), counters);
            staged.clear();
        }
        users++;
    }

    @Override
    public void driverClose() {
        LibCuFileSession last = null;
        synchronized (this) {
            if (session == null) {
                throw CuFileException.of(
                        CuFileError.DRIVER_NOT_INITIALIZED, "cuFileDriverClose", "the driver is not open");
            }
            users--;
            if (users == 0) {
                last = session;
                session = null;
            }
        }
        if (last != null) {
            last.close();
        }
    }

    @Override
    public synchronized long useCount() {
        return users;
    }

    private LibCuFileSession openImplicitly() {
        LibCuFileSession open = session;
        if (open != null) {
            return open;
        }
        synchronized (this) {
            if (session == null) {
                driverOpen();
            }
            return current("cuFileDriverOpen");
        }
    }

    /** A call of the open library that no transfer covers. */
    private <T> T call(String function, Function<LibCuFileSession, T> call) {
        LibCuFileSession open = current(function);
        return open.opening().whileAlive(function, () -> call.apply(open));
    }

    private void run(String function, Consumer<LibCuFileSession> call) {
        LibCuFileSession open = current(function);
        open.opening().runWhileAlive(function, () -> call.accept(open));
    }

    private LibCuFileSession current(String function) {
        LibCuFileSession open = session;
        if (open == null) {
            throw LibCuFileSession.closed(function);
        }
        return open;
    }

    /** What the next open takes. */
    private LibrarySettings settings() {
        Map<ConfigKey<?>, Object> over = new LinkedHashMap<>(staged);
        if (directOnly) {
            over.put(CuFileKeys.ALLOW_COMPAT_MODE, false);
        }
        return LibrarySettings.of(config, over);
    }

    private CudaContexts contexts() {
        CudaContexts known = contexts;
        if (known == null) {
            known = switch (cuda) {
                case CudaAvailability.Available available -> available.contexts();
                case CudaAvailability.Unavailable none ->
                    throw CuFileException.of(
                            CuFileError.DRIVER_NOT_INITIALIZED,
                            "cuFileDriverOpen",
                            "libcufile needs a GPU: %s (%s)".formatted(none.reason(), none.remedy()));
            };
            contexts = known;
        }
        return known;
    }

    @Override
    public DriverProperties driverGetProperties() {
        LibCuFileSession open = openImplicitly();
        return open.opening().whileAlive("cuFileDriverGetProperties", () -> open.limits().properties());
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

    // ---- batches

    @Override
    public BackendBatch batchIoSetUp(int capacity) {
        return current("cuFileBatchIOSetUp").setUpBatch(capacity);
    }

    @Override
    public void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        Guards.batchFlags(flags);
        LibraryBatch ours = own(batch, CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, "cuFileBatchIOSubmit");
        ours.submit(requests, request -> own("cuFileBatchIOSubmit", request.file()));
    }

    @Override
    public List<BatchEvent> batchIoGetStatus(
            BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        if (minimum < 0 || maximum < minimum) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    "cuFileBatchIOGetStatus",
                    "minimum is %d, allowed: 0 to the maximum of %d".formatted(minimum, maximum));
        }
        return own(batch, CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR, "cuFileBatchIOGetStatus")
                .await(minimum, maximum, timeout);
    }

    /** Ignores a batch that is not one of this session, as the library does. */
    @Override
    public void batchIoCancel(BackendBatch batch) {
        LibCuFileSession open = current("cuFileBatchIOCancel");
        if (batch instanceof LibraryBatch ours && open.owns(ours)) {
            ours.cancel();
        }
    }

    @Override
    public void batchIoDestroy(BackendBatch batch) {
        LibCuFileSession open = session;
        if (open != null && batch instanceof LibraryBatch ours && open.owns(ours)) {
            open.destroy(ours);
        }
    }

    private LibraryBatch own(BackendBatch batch, CuFileError error, String function) {
        LibCuFileSession open = current(function);
        if (batch instanceof LibraryBatch ours && open.owns(ours)) {
            return ours;
        }
        throw CuFileException.of(error, function, "not a batch of this driver session");
    }

    // ---- streams

    @Override
    public void readAsync(StreamRequest request) {
        queue(false, request);
    }

    @Override
    public void writeAsync(StreamRequest request) {
        queue(true, request);
    }

    private void queue(boolean write, StreamRequest request) {
        String function = SessionStreams.function(write);
        LibraryFile ours = enter(function, request.file());
        try {
            Guards.accessMode(function, ours, write, -1, -1);
            ours.session().streams().submit(ours, write, request);
        } finally {
            ours.exit();
        }
    }

    @Override
    public void streamRegister(long stream, int flags) {
        run("cuFileStreamRegister", open -> open.streams().register(stream, flags));
    }

    @Override
    public void streamDeregister(long stream) {
        run("cuFileStreamDeregister", open -> open.streams().deregister(stream));
    }

    // ---- version and parameters

    @Override
    public int getVersion() {
        return loaded().getVersion();
    }

    private CuFileLibrary loaded() {
        LibCuFileSession open = session;
        return open == null ? process.load(settings()) : open.library();
    }

    @Override
    public long getParameterSizeT(SizeParameter parameter) {
        return parameter(parameter, library -> library.getParameterSizeT(parameter.index()), parameter.key());
    }

    @Override
    public boolean getParameterBool(BoolParameter parameter) {
        return parameter(parameter, library -> library.getParameterBool(parameter.index()), parameter.key());
    }

    @Override
    public String getParameterString(StringParameter parameter) {
        LibCuFileSession open = session;
        if (parameter == StringParameter.LOG_DIR && open != null) {
            // The library has a folder of ours where nobody named one.
            return open.opening().settings().get(CuFileKeys.LOGGING_DIR);
        }
        String value =
                parameter(parameter, library -> library.getParameterString(parameter.index()), parameter.key());
        if (value.isEmpty() && parameter == StringParameter.ENV_LOGFILE_PATH) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE, "cuFileGetParameterString", "CUFILE_LOGFILE_PATH is not set");
        }
        return value;
    }

    /** The running value, or while closed what the next open will take. */
    private <T> T parameter(CuFileParameter parameter, Function<CuFileLibrary, T> running, ConfigKey<T> key) {
        LibCuFileSession open = session;
        if (open != null) {
            return open.opening().whileAlive("cuFileGetParameter", () -> running.apply(open.library()));
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
        stage("cuFileSetParameterBool", parameter.key(), value);
    }

    @Override
    public void setParameterString(StringParameter parameter, String value) {
        stage("cuFileSetParameterString", parameter.key(), value);
    }

    private synchronized <T> void stage(String function, ConfigKey<T> key, T value) {
        if (session != null) {
            throw CuFileException.of(
                    CuFileError.DRIVER_ALREADY_OPEN, function, "the driver is open: close it to set " + key.name());
        }
        // Refuses what is out of range; the library would take it and replace it silently when it opens.
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
        LibCuFileSession open = session;
        if (open == null) {
            synchronized (this) {
                return settings().posixPoolSlabs();
            }
        }
        int classes = open.opening().settings().posixPoolSlabs().sizesKb().size();
        return open.opening()
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
        LibrarySettings now = session == null ? settings() : current(NAME).opening().settings();
        if (now.gpuSlabClasses() == 0) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    "cuFileGetParameterGpuBounceBufferSlabArray",
                    "no slabs are configured: the GPU's bounce buffers are all of properties.per_buffer_cache_size_kb");
        }
        return loaded().getParameterGpuBounceBufferSlabArray(now.gpuSlabClasses());
    }

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

    @Override
    public void setStatsLevel(int level) {
        Guards.statsLevel(level);
        LibCuFileSession open = session;
        if (open == null) {
            stage("cuFileSetStatsLevel", CuFileKeys.PROFILE_CUFILE_STATS, (long) level);
        } else {
            open.opening().runWhileAlive("cuFileSetStatsLevel", () -> open.statistics().setLevel(level));
        }
    }

    @Override
    public int getStatsLevel() {
        LibCuFileSession open = session;
        return open == null
                ? Math.toIntExact(getParameterSizeT(SizeParameter.PROFILE_STATS))
                : open.statistics().level();
    }

    @Override
    public void statsStart() {
        run("cuFileStatsStart", open -> open.statistics().start());
    }

    @Override
    public void statsStop() {
        run("cuFileStatsStop", open -> open.statistics().stop());
    }

    @Override
    public void statsReset() {
        run("cuFileStatsReset", open -> open.statistics().reset());
    }

    @Override
    public StatisticsLevel1 getStatsL1() {
        return call("cuFileGetStatsL1", open -> open.statistics().level1());
    }

    @Override
    public StatisticsLevel2 getStatsL2() {
        return call("cuFileGetStatsL2", open -> open.statistics().level2());
    }

    @Override
    public StatisticsLevel3 getStatsL3() {
        return call("cuFileGetStatsL3", open -> open.statistics().level3());
    }

    @Override
    public long getBarSizeInKb(int gpu) {
        if (gpu < 0 || gpu >= cuda.deviceCount()) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    "cuFileGetBARSizeInKB",
                    "GPU is %d, allowed: 0 to %d".formatted(gpu, cuda.deviceCount() - 1));
        }
        return call("cuFileGetBARSizeInKB", open -> open.library().getBarSizeInKb(gpu));
    }

    // ---- later versions

    @Override
    public void driverSetP2pFlags(TargetType target, int flags) {
        Guards.p2pFlags(flags);
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

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return transferVector("cuFileReadv", CuFileFunction.READV, false, file, ranges, fileOffset, flags);
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return transferVector("cuFileWritev", CuFileFunction.WRITEV, true, file, ranges, fileOffset, flags);
    }

    private long transferVector(
            String function,
            CuFileFunction needed,
            boolean write,
            BackendFile file,
            List<MemoryRange> ranges,
            long fileOffset,
            int flags) {
        LibraryFile ours = enter(function, file);
        try {
            requireLater(needed);
            Guards.vector(function, ours, ranges, fileOffset, flags);
            Guards.accessMode(function, ours, write, -1, fileOffset);
            return ranges.isEmpty() ? 0 : ours.session().transferVector(ours, write, ranges, fileOffset, flags);
        } finally {
            ours.exit();
        }
    }
}
