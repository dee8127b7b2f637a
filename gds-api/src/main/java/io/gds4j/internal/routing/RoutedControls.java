package io.gds4j.internal.routing;

import io.gds4j.config.CuFileParameter;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.TargetType;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.DriverControls;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The controls of a {@link RoutingBackend}: those of the backend that answers. Limits reach both, and what moved is the sum of both. */
final class RoutedControls implements DriverControls {
    private final BackendPair pair;

    RoutedControls(BackendPair pair) {
        this.pair = pair;
    }

    private DriverControls preferred() {
        return pair.preferred().controls();
    }

    private static @Nullable DriverControls controls(@Nullable CuFileBackend backend) {
        return backend == null ? null : backend.controls();
    }

    @Override
    public String name() {
        return preferred().name();
    }

    @Override
    public EngineStatistics engineStatistics() {
        EngineStatistics one = pair.first().controls().engineStatistics();
        DriverControls second = controls(pair.secondIfMade());
        if (second == null) {
            return one;
        }
        EngineStatistics other = second.engineStatistics();
        Map<IoPath, Long> bytes = new HashMap<>(one.bytesByPath());
        other.bytesByPath().forEach((path, moved) -> bytes.merge(path, moved, Long::sum));
        return EngineStatistics.of(
                bytes,
                one.bouncePoolBytes() + other.bouncePoolBytes(),
                one.bouncePoolPeakBytes() + other.bouncePoolPeakBytes(),
                one.queueDepth() + other.queueDepth(),
                one.retries() + other.retries(),
                one.ioUring().equals("off") ? other.ioUring() : one.ioUring());
    }

    @Override
    public long bytesWritten() {
        DriverControls second = controls(pair.secondIfMade());
        return pair.first().controls().bytesWritten() + (second == null ? 0 : second.bytesWritten());
    }

    @Override
    public void trim() {
        pair.first().controls().trim();
        DriverControls second = controls(pair.secondIfMade());
        if (second != null) {
            second.trim();
        }
    }

    @Override
    public DriverProperties driverGetProperties() {
        pair.openImplicitly();
        return preferred().driverGetProperties();
    }

    @Override
    public void driverSetPollMode(boolean poll, long pollThresholdKb) {
        limit(controls -> controls.driverSetPollMode(poll, pollThresholdKb));
    }

    @Override
    public void driverSetMaxDirectIoSize(long maxDirectIoSizeKb) {
        limit(controls -> controls.driverSetMaxDirectIoSize(maxDirectIoSizeKb));
    }

    @Override
    public void driverSetMaxCacheSize(long maxCacheSizeKb) {
        limit(controls -> controls.driverSetMaxCacheSize(maxCacheSizeKb));
    }

    @Override
    public void driverSetMaxPinnedMemSize(long maxPinnedSizeKb) {
        limit(controls -> controls.driverSetMaxPinnedMemSize(maxPinnedSizeKb));
    }

    private void limit(Consumer<DriverControls> setter) {
        DriverControls answering = preferred();
        setter.accept(answering);
        DriverControls second = controls(pair.secondIfOpen());
        if (second != null && second != answering) {
            setter.accept(second);
        }
    }

    @Override
    public int getVersion() {
        return preferred().getVersion();
    }

    @Override
    public <T> T getParameter(CuFileParameter<T> parameter) {
        return preferred().getParameter(parameter);
    }

    @Override
    public <T> void setParameter(CuFileParameter<T> parameter, T value) {
        preferred().setParameter(parameter, value);
    }

    @Override
    public ParameterRange getParameterMinMaxValue(SizeParameter parameter) {
        return preferred().getParameterMinMaxValue(parameter);
    }

    @Override
    public void setStatsLevel(int level) {
        preferred().setStatsLevel(level);
    }

    @Override
    public int getStatsLevel() {
        return preferred().getStatsLevel();
    }

    @Override
    public void statsStart() {
        preferred().statsStart();
    }

    @Override
    public void statsStop() {
        preferred().statsStop();
    }

    @Override
    public void statsReset() {
        preferred().statsReset();
    }

    @Override
    public StatisticsLevel1 getStatsL1() {
        return preferred().getStatsL1();
    }

    @Override
    public StatisticsLevel2 getStatsL2() {
        return preferred().getStatsL2();
    }

    @Override
    public StatisticsLevel3 getStatsL3() {
        return preferred().getStatsL3();
    }

    @Override
    public long getBarSizeInKb(int gpu) {
        return preferred().getBarSizeInKb(gpu);
    }

    @Override
    public void setParameterPosixPoolSlabArray(SlabArray slabs) {
        preferred().setParameterPosixPoolSlabArray(slabs);
    }

    @Override
    public SlabArray getParameterPosixPoolSlabArray() {
        return preferred().getParameterPosixPoolSlabArray();
    }

    @Override
    public void driverSetP2pFlags(TargetType target, int flags) {
        preferred().driverSetP2pFlags(target, flags);
    }

    @Override
    public int driverGetP2pFlags(TargetType target) {
        return preferred().driverGetP2pFlags(target);
    }

    @Override
    public void exportPcieTopology(Path file) {
        preferred().exportPcieTopology(file);
    }

    @Override
    public void setParameterGpuBounceBufferSlabArray(SlabArray slabs) {
        preferred().setParameterGpuBounceBufferSlabArray(slabs);
    }

    @Override
    public SlabArray getParameterGpuBounceBufferSlabArray() {
        return preferred().getParameterGpuBounceBufferSlabArray();
    }
}
