package io.gds4j.compat;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.config.TargetType;
import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.nvml.NvmlAvailability;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.nio.file.Path;
import java.util.function.Supplier;

/**
 * The part of {@link CompatBackend} that concerns neither files nor memory: version, parameters, statistics, peer-to-peer flags
 * and the topology.
 */
abstract class CompatDriver implements CuFileBackend {
    /** The newest version whose functions this backend serves. */
    private static final int VERSION = 1200;

    final CompatParameters parameters;
    final CompatPeers peers = new CompatPeers();
    final CuFileCounters statistics;
    private final CudaAvailability cuda;
    private final Apertures apertures;

    CompatDriver(CuFileConfig config, CudaAvailability cuda, Supplier<NvmlAvailability> nvml) {
        this.parameters = new CompatParameters(config);
        this.statistics = new CuFileCounters(cuda);
        this.cuda = cuda;
        this.apertures = new Apertures(cuda, nvml);
    }

    /**
     * Returns the session of the open driver.
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED while the driver is closed
     */
    abstract CompatSession checkOpen(String function);

    @Override
    public int getVersion() {
        return VERSION;
    }

    @Override
    public long getParameterSizeT(SizeParameter parameter) {
        return parameters.get(parameter.key());
    }

    @Override
    public boolean getParameterBool(BoolParameter parameter) {
        return parameters.get(parameter.key());
    }

    @Override
    public String getParameterString(StringParameter parameter) {
        return parameters.text(parameter);
    }

    @Override
    public void setParameterSizeT(SizeParameter parameter, long value) {
        parameters.set("cuFileSetParameterSizeT", parameter.key(), value);
    }

    @Override
    public void setParameterBool(BoolParameter parameter, boolean value) {
        parameters.set("cuFileSetParameterBool", parameter.key(), value);
    }

    @Override
    public void setParameterString(StringParameter parameter, String value) {
        parameters.set("cuFileSetParameterString", parameter.key(), value);
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
    public void setStatsLevel(int level) {
        statistics.setLevel(level);
    }

    @Override
    public int getStatsLevel() {
        return statistics.level();
    }

    @Override
    public void statsStart() {
        checkOpen("cuFileStatsStart");
        statistics.start();
    }

    @Override
    public void statsStop() {
        checkOpen("cuFileStatsStop");
        statistics.stop();
    }

    @Override
    public void statsReset() {
        checkOpen("cuFileStatsReset");
        statistics.reset();
    }

    @Override
    public StatisticsLevel1 getStatsL1() {
        checkOpen("cuFileGetStatsL1");
        return statistics.level1();
    }

    @Override
    public StatisticsLevel2 getStatsL2() {
        checkOpen("cuFileGetStatsL2");
        return statistics.level2();
    }

    @Override
    public StatisticsLevel3 getStatsL3() {
        checkOpen("cuFileGetStatsL3");
        return statistics.level3();
    }

    @Override
    public void driverSetP2pFlags(TargetType target, int flags) {
        checkOpen("cuFileDriverSetP2PFlags");
        peers.set(target, flags);
    }

    @Override
    public int driverGetP2pFlags(TargetType target) {
        checkOpen("cuFileDriverGetP2PFlags");
        return peers.get(target);
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
