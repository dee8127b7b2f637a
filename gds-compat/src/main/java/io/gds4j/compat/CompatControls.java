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
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.nvml.NvmlAvailability;
import io.gds4j.spi.DriverLimits;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.IoPath;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.Supplier;

/** Parameters, limits, peer-to-peer flags, topology and statistics of a {@link CompatBackend}. */
final class CompatControls extends CountedControls<CompatSession> {
    static final String NAME = "compat";
    /** The newest version whose functions this backend serves. */
    private static final int VERSION = 1200;

    private final CompatParameters parameters;
    private final CompatPeers peers = new CompatPeers();
    private final CudaAvailability cuda;
    private final Apertures apertures;
    private volatile DriverLimits limits;
    private volatile DriverProperties properties;
    private volatile long peakOfClosedSessions;

    CompatControls(
            DriverUses<CompatSession> uses, CuFileCounters statistics, PathCounters pathBytes, CuFileConfig config,
            CudaAvailability cuda, Supplier<NvmlAvailability> nvml) {
        super(uses, statistics, pathBytes);
        this.parameters = new CompatParameters(config);
        this.cuda = cuda;
        this.apertures = new Apertures(cuda, nvml);
        this.limits = new DriverLimits(config);
        this.properties = CompatProperties.of(config);
    }

    /** Returns the configuration of a session that opens now, with the values that the program has set. Called under the lock. */
    CuFileConfig begin() {
        return parameters.open();
    }

    /** The session is open. Called under the lock. */
    void opened(CuFileConfig config, DriverLimits running) {
        limits = running;
        properties = CompatProperties.of(config);
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
        return apertures.sizeInKb(gpu);
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
}
