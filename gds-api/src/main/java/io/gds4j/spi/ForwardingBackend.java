package io.gds4j.spi;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.config.TargetType;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A backend that forwards every call to another one; a base for backends that change a few calls. A read or write with a report, such as each
 * of a load or a save, is a {@link #transfer}; without one it is a {@link #read} or {@link #write}.
 *
 * @since 0.1
 */
public abstract class ForwardingBackend implements CuFileBackend {
    private final Supplier<? extends CuFileBackend> delegate;

    /**
     * Forwards to one backend.
     *
     * @param delegate the backend that serves the calls
     */
    protected ForwardingBackend(CuFileBackend delegate) {
        Objects.requireNonNull(delegate, "delegate");
        this.delegate = () -> delegate;
    }

    /**
     * Forwards to a backend that is looked up for each call.
     *
     * @param delegate finds the backend that serves the call
     */
    protected ForwardingBackend(Supplier<? extends CuFileBackend> delegate) {
        this.delegate = Objects.requireNonNull(delegate, "delegate");
    }

    /** {@return the backend that serves now} */
    protected final CuFileBackend delegate() {
        return delegate.get();
    }

    @Override
    public String name() {
        return delegate().name();
    }

    @Override
    public MemoryAllocator allocator() {
        return delegate().allocator();
    }

    @Override
    public Map<IoPath, Long> bytesByPath() {
        return delegate().bytesByPath();
    }

    @Override
    public long bytesWritten() {
        return delegate().bytesWritten();
    }

    @Override
    public EngineStatistics engineStatistics() {
        return delegate().engineStatistics();
    }

    @Override
    public void trim() {
        delegate().trim();
    }

    @Override
    public long peakStagingBytes() {
        return delegate().peakStagingBytes();
    }

    @Override
    public BackendFile handleRegister(FileSource source) {
        return delegate().handleRegister(source);
    }

    @Override
    public void handleDeregister(BackendFile file) {
        delegate().handleDeregister(file);
    }

    @Override
    public void bufRegister(MemoryRange range, int flags) {
        delegate().bufRegister(range, flags);
    }

    @Override
    public void bufRegisterNow(MemoryRange range, int flags) {
        delegate().bufRegisterNow(range, flags);
    }

    @Override
    public void bufDeregister(MemoryRange range) {
        delegate().bufDeregister(range);
    }

    @Override
    public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return delegate().read(file, base, size, fileOffset, bufferOffset);
    }

    @Override
    public long transfer(BatchRequest request) {
        return delegate().transfer(request);
    }

    @Override
    public MemoryAllocation stage(MemoryRange destination, long bytes) {
        return delegate().stage(destination, bytes);
    }

    @Override
    public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        return delegate().write(file, base, size, fileOffset, bufferOffset);
    }

    @Override
    public void driverOpen() {
        delegate().driverOpen();
    }

    @Override
    public void driverClose() {
        delegate().driverClose();
    }

    @Override
    public DriverProperties driverGetProperties() {
        return delegate().driverGetProperties();
    }

    @Override
    public void driverSetPollMode(boolean poll, long pollThresholdKb) {
        delegate().driverSetPollMode(poll, pollThresholdKb);
    }

    @Override
    public void driverSetMaxDirectIoSize(long maxDirectIoSizeKb) {
        delegate().driverSetMaxDirectIoSize(maxDirectIoSizeKb);
    }

    @Override
    public void driverSetMaxCacheSize(long maxCacheSizeKb) {
        delegate().driverSetMaxCacheSize(maxCacheSizeKb);
    }

    @Override
    public void driverSetMaxPinnedMemSize(long maxPinnedSizeKb) {
        delegate().driverSetMaxPinnedMemSize(maxPinnedSizeKb);
    }

    @Override
    public long useCount() {
        return delegate().useCount();
    }

    @Override
    public BackendBatch batchIoSetUp(int capacity) {
        return delegate().batchIoSetUp(capacity);
    }

    @Override
    public void batchIoSubmit(BackendBatch batch, List<BatchRequest> requests, int flags) {
        delegate().batchIoSubmit(batch, requests, flags);
    }

    @Override
    public List<BatchEvent> batchIoGetStatus(BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        return delegate().batchIoGetStatus(batch, minimum, maximum, timeout);
    }

    @Override
    public void batchIoCancel(BackendBatch batch) {
        delegate().batchIoCancel(batch);
    }

    @Override
    public void batchIoDestroy(BackendBatch batch) {
        delegate().batchIoDestroy(batch);
    }

    @Override
    public void readAsync(StreamRequest request) {
        delegate().readAsync(request);
    }

    @Override
    public void writeAsync(StreamRequest request) {
        delegate().writeAsync(request);
    }

    @Override
    public void streamRegister(long stream, int flags) {
        delegate().streamRegister(stream, flags);
    }

    @Override
    public void streamDeregister(long stream) {
        delegate().streamDeregister(stream);
    }

    @Override
    public int getVersion() {
        return delegate().getVersion();
    }

    @Override
    public long getParameterSizeT(SizeParameter parameter) {
        return delegate().getParameterSizeT(parameter);
    }

    @Override
    public boolean getParameterBool(BoolParameter parameter) {
        return delegate().getParameterBool(parameter);
    }

    @Override
    public String getParameterString(StringParameter parameter) {
        return delegate().getParameterString(parameter);
    }

    @Override
    public void setParameterSizeT(SizeParameter parameter, long value) {
        delegate().setParameterSizeT(parameter, value);
    }

    @Override
    public void setParameterBool(BoolParameter parameter, boolean value) {
        delegate().setParameterBool(parameter, value);
    }

    @Override
    public void setParameterString(StringParameter parameter, String value) {
        delegate().setParameterString(parameter, value);
    }

    @Override
    public ParameterRange getParameterMinMaxValue(SizeParameter parameter) {
        return delegate().getParameterMinMaxValue(parameter);
    }

    @Override
    public void setStatsLevel(int level) {
        delegate().setStatsLevel(level);
    }

    @Override
    public int getStatsLevel() {
        return delegate().getStatsLevel();
    }

    @Override
    public void statsStart() {
        delegate().statsStart();
    }

    @Override
    public void statsStop() {
        delegate().statsStop();
    }

    @Override
    public void statsReset() {
        delegate().statsReset();
    }

    @Override
    public StatisticsLevel1 getStatsL1() {
        return delegate().getStatsL1();
    }

    @Override
    public StatisticsLevel2 getStatsL2() {
        return delegate().getStatsL2();
    }

    @Override
    public StatisticsLevel3 getStatsL3() {
        return delegate().getStatsL3();
    }

    @Override
    public long getBarSizeInKb(int gpu) {
        return delegate().getBarSizeInKb(gpu);
    }

    @Override
    public void setParameterPosixPoolSlabArray(SlabArray slabs) {
        delegate().setParameterPosixPoolSlabArray(slabs);
    }

    @Override
    public SlabArray getParameterPosixPoolSlabArray() {
        return delegate().getParameterPosixPoolSlabArray();
    }

    @Override
    public void driverSetP2pFlags(TargetType target, int flags) {
        delegate().driverSetP2pFlags(target, flags);
    }

    @Override
    public int driverGetP2pFlags(TargetType target) {
        return delegate().driverGetP2pFlags(target);
    }

    @Override
    public void exportPcieTopology(Path file) {
        delegate().exportPcieTopology(file);
    }

    @Override
    public void setParameterGpuBounceBufferSlabArray(SlabArray slabs) {
        delegate().setParameterGpuBounceBufferSlabArray(slabs);
    }

    @Override
    public SlabArray getParameterGpuBounceBufferSlabArray() {
        return delegate().getParameterGpuBounceBufferSlabArray();
    }

    @Override
    public boolean waitsForDisk(BackendFile file, long fileOffset, long size) {
        return delegate().waitsForDisk(file, fileOffset, size);
    }

    @Override
    public long readv(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return delegate().readv(file, ranges, fileOffset, flags);
    }

    @Override
    public long writev(BackendFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        return delegate().writev(file, ranges, fileOffset, flags);
    }
}
