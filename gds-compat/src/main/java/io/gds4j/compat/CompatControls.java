package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.CuFileParameter;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.TargetType;
import io.gds4j.engine.lifecycle.DriverUses;
import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.engine.statistics.CountedControls;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.nvml.Nvml;
import io.gds4j.ffi.nvml.Nvml.Bar1;
import io.gds4j.ffi.nvml.NvmlAvailability;
import io.gds4j.spi.DriverLimits;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.IoPath;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** Parameters, limits, peer-to-peer flags, topology and statistics of a {@link CompatBackend}. */
final class CompatControls extends CountedControls<CompatSession> {
    static final String NAME = "compat";
    /** The newest version whose functions this backend serves. */
    private static final int VERSION = 1200;
    private static final long KIB = 1024;

    /** Bits of the properties. */
    private static final int COMPAT_ALLOWED = 2;
    private static final int BATCH_IO = 2;
    private static final int STREAM_IO = 4;
    private static final int PARALLEL_IO = 8;

    private final CompatParameters parameters;
    private final CompatPeers peers = new CompatPeers();
    private final CudaAvailability cuda;
    private final Supplier<NvmlAvailability> nvml;
    private volatile DriverLimits limits;
    private volatile DriverProperties properties;
    private volatile long peakOfClosedSessions;

    CompatControls(
            DriverUses<CompatSession> uses, CuFileCounters statistics, PathCounters pathBytes, CuFileConfig config,
            CudaAvailability cuda, Supplier<NvmlAvailability> nvml) {
        super(uses, statistics, pathBytes);
        this.parameters = new CompatParameters(config);
        this.cuda = cuda;
        this.nvml = nvml;
        this.limits = new DriverLimits(config);
        this.properties = properties(config);
    }

    /** Returns the properties, before a running program changes limits. */
    private static DriverProperties properties(CuFileConfig config) {
        boolean parallel = config.get(CuFileKeys.PARALLEL_IO);
        boolean streams = parallel && config.get(CuFileKeys.MAX_IO_THREADS) > 0;
        return DriverProperties.of(
                0,
                0,
                config.get(CuFileKeys.POLL_MODE_MAX_SIZE_KB),
                config.get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB),
                0,
                // This backend is cuFile's compatible mode, so the mode is always allowed here.
                COMPAT_ALLOWED,
                BATCH_IO | (streams ? STREAM_IO : 0) | (parallel ? PARALLEL_IO : 0),
                config.get(CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB),
                config.get(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB),
                config.get(CuFileKeys.MAX_DEVICE_PINNED_MEM_SIZE_KB),
                config.get(CuFileKeys.IO_BATCHSIZE).intValue(),
                config.get(CuFileKeys.MAX_BATCH_IO_TIMEOUT_MSECS).intValue());
    }

    /** Returns the configuration of a session that opens now, with the values that the program has set. Called under the lock. */
    CuFileConfig begin() {
        return parameters.open();
    }

    /** The session is open. Called under the lock. */
    void opened(CuFileConfig config, DriverLimits running) {
        limits = running;
        properties = properties(config);
        statistics.open(config.get(CuFileKeys.PROFILE_CUFILE_STATS));
    }

    /** The session could not be opened. Called under the lock. */
    void abandon() {
        parameters.close();
    }

    /** Forgets what belonged to the last session. Called under the lock. */
    void leave(CompatSession last) {
        peakOfClosedSessions = Math.max(peakOfClosedSessions, last.peakStagingBytes());
        parameters.close();
        peers.clear();
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public EngineStatistics engineStatistics() {
        CompatSession open = uses.session();
        long peak = peakOfClosedSessions;
        Map<IoPath, Long> bytes = pathBytes.snapshot();
        return open == null
                ? EngineStatistics.of(bytes, 0, peak, 0, pathBytes.retries(), "off")
                : EngineStatistics.of(
                        bytes,
                        open.stagingBytes(),
                        Math.max(peak, open.peakStagingBytes()),
                        open.queueDepth(),
                        pathBytes.retries(),
                        open.ioUring());
    }

    @Override
    public void trim() {
        CompatSession open = uses.current("CuFileDriver.trim");
        open.enter("CuFileDriver.trim");
        try {
            open.trim();
        } finally {
            open.exit();
        }
    }

    @Override
    public DriverProperties driverGetProperties() {
        uses.openImplicitly();
        return limits.in(properties);
    }

    @Override
    public void driverSetPollMode(boolean poll, long pollThresholdKb) {
        runWhileOpen("cuFileDriverSetPollMode", open -> limits.setPollMode(poll, pollThresholdKb));
    }

    @Override
    public void driverSetMaxDirectIoSize(long maxDirectIoSizeKb) {
        runWhileOpen("cuFileDriverSetMaxDirectIOSize", open -> limits.setMaxDirectIoSize(maxDirectIoSizeKb));
    }

    @Override
    public void driverSetMaxCacheSize(long maxCacheSizeKb) {
        runWhileOpen("cuFileDriverSetMaxCacheSize", open -> limits.setMaxCacheSize(maxCacheSizeKb));
    }

    @Override
    public void driverSetMaxPinnedMemSize(long maxPinnedSizeKb) {
        runWhileOpen("cuFileDriverSetMaxPinnedMemSize", open -> limits.setMaxPinnedMemSize(maxPinnedSizeKb));
    }

    @Override
    public int getVersion() {
        return VERSION;
    }

    @Override
    public <T> T getParameter(CuFileParameter<T> parameter) {
        return parameters.get(parameter);
    }

    @Override
    public <T> void setParameter(CuFileParameter<T> parameter, T value) {
        parameters.set(parameter.setter(), parameter.key(), value);
    }

    @Override
    public ParameterRange getParameterMinMaxValue(SizeParameter parameter) {
        return CompatParameters.range(parameter);
    }

    @Override
    public void setParameterPosixPoolSlabArray(SlabArray slabs) {
        parameters.setSlabs(slabs);
    }

    @Override
    public SlabArray getParameterPosixPoolSlabArray() {
        return parameters.slabs();
    }

    @Override
    public long getBarSizeInKb(int gpu) {
        if (gpu < 0 || gpu >= cuda.deviceCount()) {
            throw CuFileException.invalid("cuFileGetBARSizeInKB",
                    "there is no GPU %s, this machine has %s".formatted(gpu, cuda.deviceCount()));
        }
        return apertureKb(gpu);
    }

    /** Returns the size in KiB by NVML, because the CUDA driver does not know it; 0 if it is unknown. */
    private long apertureKb(int gpu) {
        Optional<String> id = cuda.cuda().flatMap(driver -> pciBusId(driver, gpu));
        Optional<Nvml> library = nvml.get().nvml();
        if (id.isEmpty() || library.isEmpty()) {
            return 0;
        }
        try {
            return library.get().byPciBusId(id.get()).bar1().map(Bar1::total).orElse(0L) / KIB;
        } catch (CuFileException e) {
            return 0;
        }
    }

    private static Optional<String> pciBusId(Cuda driver, int gpu) {
        int[] device = new int[1];
        String[] id = new String[1];
        boolean known = driver.deviceGet(device, gpu) == Cuda.SUCCESS
                && driver.deviceGetPciBusId(id, device[0]) == Cuda.SUCCESS;
        return known ? Optional.of(id[0]) : Optional.empty();
    }

    @Override
    public void driverSetP2pFlags(TargetType target, int flags) {
        runWhileOpen("cuFileDriverSetP2PFlags", open -> peers.set(target, flags));
    }

    @Override
    public int driverGetP2pFlags(TargetType target) {
        return whileOpen("cuFileDriverGetP2PFlags", open -> peers.get(target));
    }

    @Override
    public void exportPcieTopology(Path file) {
        PcieTopology.of(SystemFiles.ofMachine()).write(file);
    }

    @Override
    public void setParameterGpuBounceBufferSlabArray(SlabArray slabs) {
        parameters.setGpuSlabs(slabs);
    }

    @Override
    public SlabArray getParameterGpuBounceBufferSlabArray() {
        return parameters.gpuSlabs();
    }

    /**
     * The peer-to-peer flags of an open driver. They are kept and reported as cuFile does, and change nothing: this engine has no
     * peer-to-peer path. Thread-safe.
     */
    private static final class CompatPeers {
        private static final int PCI_P2PDMA = 1;
        private static final int C2C = 8;
        /** The only flag that cuFile lets a program set. */
        private static final int ALLOWED =
                System.getProperty("os.arch").toLowerCase(Locale.ROOT).equals("aarch64") ? C2C : PCI_P2PDMA;

        private final Map<TargetType, Integer> flags = new EnumMap<>(TargetType.class);

        /** @throws CuFileException INVALID_VALUE for other flags than the machine's */
        synchronized void set(TargetType target, int bits) {
            if (bits != ALLOWED) {
                throw CuFileException.of(CuFileError.INVALID_VALUE, Errno.EINVAL, "cuFileDriverSetP2PFlags",
                        "flags are 0x%x, allowed on this machine: 0x%x".formatted(bits, ALLOWED));
            }
            flags.put(target, bits);
        }

        synchronized int get(TargetType target) {
            return flags.getOrDefault(target, 0);
        }

        /** The driver closes: cuFile forgets the flags. */
        synchronized void clear() {
            flags.clear();
        }
    }
}
