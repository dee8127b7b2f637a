package io.gds4j.internal.routing;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.config.TargetType;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.nio.file.Path;

/** The functions that concern neither file nor memory, all answered by one backend. */
abstract class DriverFunctions implements CuFileBackend {
    /** The one that answers. */
    abstract CuFileBackend speaker();

    @Override
    public int getVersion() {
        return speaker().getVersion();
    }

    @Override
    public long getParameterSizeT(SizeParameter parameter) {
        return speaker().getParameterSizeT(parameter);
    }

    @Override
    public boolean getParameterBool(BoolParameter parameter) {
        return speaker().getParameterBool(parameter);
    }

    @Override
    public String getParameterString(StringParameter parameter) {
        return speaker().getParameterString(parameter);
    }

    @Override
    public void setParameterSizeT(SizeParameter parameter, long value) {
        speaker().setParameterSizeT(parameter, value);
    }

    @Override
    public void setParameterBool(BoolParameter parameter, boolean value) {
        speaker().setParameterBool(parameter, value);
    }

    @Override
    public void setParameterString(StringParameter parameter, String value) {
        speaker().setParameterString(parameter, value);
    }

    @Override
    public ParameterRange getParameterMinMaxValue(SizeParameter parameter) {
        return speaker().getParameterMinMaxValue(parameter);
    }

    @Override
    public void setStatsLevel(int level) {
        speaker().setStatsLevel(level);
    }

    @Override
    public int getStatsLevel() {
        return speaker().getStatsLevel();
    }

    @Override
    public void statsStart() {
        speaker().statsStart();
    }

    @Override
    public void statsStop() {
        speaker().statsStop();
    }

    @Override
    public void statsReset() {
        speaker().statsReset();
    }

    @Override
    public StatisticsLevel1 getStatsL1() {
        return speaker().getStatsL1();
    }

    @Override
    public StatisticsLevel2 getStatsL2() {
        return speaker().getStatsL2();
    }

    @Override
    public StatisticsLevel3 getStatsL3() {
        return speaker().getStatsL3();
    }

    @Override
    public long getBarSizeInKb(int gpu) {
        return speaker().getBarSizeInKb(gpu);
    }

    @Override
    public void setParameterPosixPoolSlabArray(SlabArray slabs) {
        speaker().setParameterPosixPoolSlabArray(slabs);
    }

    @Override
    public SlabArray getParameterPosixPoolSlabArray() {
        return speaker().getParameterPosixPoolSlabArray();
    }

    @Override
    public void driverSetP2pFlags(TargetType target, int flags) {
        speaker().driverSetP2pFlags(target, flags);
    }

    @Override
    public int driverGetP2pFlags(TargetType target) {
        return speaker().driverGetP2pFlags(target);
    }

    @Override
    public void exportPcieTopology(Path file) {
        speaker().exportPcieTopology(file);
    }

    @Override
    public void setParameterGpuBounceBufferSlabArray(SlabArray slabs) {
        speaker().setParameterGpuBounceBufferSlabArray(slabs);
    }

    @Override
    public SlabArray getParameterGpuBounceBufferSlabArray() {
        return speaker().getParameterGpuBounceBufferSlabArray();
    }
}
