package io.gds4j.compat;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.config.TargetType;
import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.engine.statistics.CountedDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.nvml.NvmlAvailability;
import java.nio.file.Path;
import java.util.function.Supplier;

/**
 * The part of {@link CompatBackend} that concerns neither files nor memory: version, parameters, statistics, peer-to-peer flags
 * and the topology.
 */
abstract class CompatDriver extends CountedDriver<CompatSession> {
    /** The newest version whose functions this backend serves. */
    private static final int VERSION = 1200;

    final CompatParameters parameters;
    final CompatPeers peers = new CompatPeers();
    private final CudaAvailability cuda;
    private final Apertures apertures;

    CompatDriver(CuFileConfig config, CudaAvailability cuda, Supplier<NvmlAvailability> nvml) {
        super(cuda);
        this.parameters = new CompatParameters(config);
        this.cuda = cuda;
        this.apertures = new Apertures(cuda, nvml);
    }

    @Override
    protected final CuFileException closed(String function) {
        return CompatSession.closed(function);
    }

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
    public void driverSetP2pFlags(TargetType target, int flags) {
        current("cuFileDriverSetP2PFlags");
        peers.set(target, flags);
    }

    @Override
    public int driverGetP2pFlags(TargetType target) {
        current("cuFileDriverGetP2PFlags");
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
