package io.gds4j.config;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Versions, limits and features of an open driver ({@code cuFileDriverGetProperties}, {@code CUfileDrvProps_t}).
 *
 * @since 0.1
 */
public final class DriverProperties {
    private final int nvfsMajorVersion;
    private final int nvfsMinorVersion;
    private final long pollThresholdKb;
    private final long maxDirectIoSizeKb;
    private final int driverStatusFlags;
    private final int driverControlFlags;
    private final int featureFlags;
    private final long maxDeviceCacheSizeKb;
    private final long perBufferCacheSizeKb;
    private final long maxDevicePinnedMemSizeKb;
    private final int maxBatchIoSize;
    private final int maxBatchIoTimeoutMsecs;

    /**
     * Sets the parts.
     *
     * @param nvfsMajorVersion as {@link #nvfsMajorVersion}
     * @param nvfsMinorVersion as {@link #nvfsMinorVersion}
     * @param pollThresholdKb as {@link #pollThresholdKb}
     * @param maxDirectIoSizeKb as {@link #maxDirectIoSizeKb}
     * @param driverStatusFlags as {@link #driverStatusFlags}
     * @param driverControlFlags as {@link #driverControlFlags}
     * @param featureFlags as {@link #featureFlags}
     * @param maxDeviceCacheSizeKb as {@link #maxDeviceCacheSizeKb}
     * @param perBufferCacheSizeKb as {@link #perBufferCacheSizeKb}
     * @param maxDevicePinnedMemSizeKb as {@link #maxDevicePinnedMemSizeKb}
     * @param maxBatchIoSize as {@link #maxBatchIoSize}
     * @param maxBatchIoTimeoutMsecs as {@link #maxBatchIoTimeoutMsecs}
     */
    public DriverProperties(
            int nvfsMajorVersion,
            int nvfsMinorVersion,
            long pollThresholdKb,
            long maxDirectIoSizeKb,
            int driverStatusFlags,
            int driverControlFlags,
            int featureFlags,
            long maxDeviceCacheSizeKb,
            long perBufferCacheSizeKb,
            long maxDevicePinnedMemSizeKb,
            int maxBatchIoSize,
            int maxBatchIoTimeoutMsecs) {
        this.nvfsMajorVersion = nvfsMajorVersion;
        this.nvfsMinorVersion = nvfsMinorVersion;
        this.pollThresholdKb = pollThresholdKb;
        this.maxDirectIoSizeKb = maxDirectIoSizeKb;
        this.driverStatusFlags = driverStatusFlags;
        this.driverControlFlags = driverControlFlags;
        this.featureFlags = featureFlags;
        this.maxDeviceCacheSizeKb = maxDeviceCacheSizeKb;
        this.perBufferCacheSizeKb = perBufferCacheSizeKb;
        this.maxDevicePinnedMemSizeKb = maxDevicePinnedMemSizeKb;
        this.maxBatchIoSize = maxBatchIoSize;
        this.maxBatchIoTimeoutMsecs = maxBatchIoTimeoutMsecs;
    }

    /** {@return major version of nvidia-fs, 0 without it} */
    public int nvfsMajorVersion() {
        return nvfsMajorVersion;
    }

    /** {@return minor version of nvidia-fs, 0 without it} */
    public int nvfsMinorVersion() {
        return nvfsMinorVersion;
    }

    /** {@return largest request to poll for in poll mode, KiB} */
    public long pollThresholdKb() {
        return pollThresholdKb;
    }

    /** {@return largest size of one request to the kernel, KiB} */
    public long maxDirectIoSizeKb() {
        return maxDirectIoSizeKb;
    }

    /** {@return bits of {@code CUfileDriverStatusFlags_t}} */
    public int driverStatusFlags() {
        return driverStatusFlags;
    }

    /** {@return bits of {@code CUfileDriverControlFlags_t}: 1 poll mode, 2 compat mode allowed} */
    public int driverControlFlags() {
        return driverControlFlags;
    }

    /** {@return bits of {@code CUfileFeatureFlags_t}: 1 dynamic routing, 2 batch, 4 streams, 8 parallel I/O} */
    public int featureFlags() {
        return featureFlags;
    }

    /** {@return GPU memory for all bounce buffers, KiB} */
    public long maxDeviceCacheSizeKb() {
        return maxDeviceCacheSizeKb;
    }

    /** {@return size of one GPU bounce buffer, KiB} */
    public long perBufferCacheSizeKb() {
        return perBufferCacheSizeKb;
    }

    /** {@return GPU memory that may be registered, KiB} */
    public long maxDevicePinnedMemSizeKb() {
        return maxDevicePinnedMemSizeKb;
    }

    /** {@return largest number of entries of one batch} */
    public int maxBatchIoSize() {
        return maxBatchIoSize;
    }

    /** {@return longest single sleep while waiting for a batch, milliseconds} */
    public int maxBatchIoTimeoutMsecs() {
        return maxBatchIoTimeoutMsecs;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof DriverProperties that && nvfsMajorVersion == that.nvfsMajorVersion
                && nvfsMinorVersion == that.nvfsMinorVersion && pollThresholdKb == that.pollThresholdKb
                && maxDirectIoSizeKb == that.maxDirectIoSizeKb && driverStatusFlags == that.driverStatusFlags
                && driverControlFlags == that.driverControlFlags && featureFlags == that.featureFlags
                && maxDeviceCacheSizeKb == that.maxDeviceCacheSizeKb
                && perBufferCacheSizeKb == that.perBufferCacheSizeKb
                && maxDevicePinnedMemSizeKb == that.maxDevicePinnedMemSizeKb && maxBatchIoSize == that.maxBatchIoSize
                && maxBatchIoTimeoutMsecs == that.maxBatchIoTimeoutMsecs;
    }

    @Override
    public int hashCode() {
        return Objects.hash(nvfsMajorVersion, nvfsMinorVersion, pollThresholdKb, maxDirectIoSizeKb, driverStatusFlags,
                driverControlFlags, featureFlags, maxDeviceCacheSizeKb, perBufferCacheSizeKb, maxDevicePinnedMemSizeKb,
                maxBatchIoSize, maxBatchIoTimeoutMsecs);
    }

    @Override
    public String toString() {
        return "DriverProperties[nvfsMajorVersion=" + nvfsMajorVersion + ", nvfsMinorVersion=" + nvfsMinorVersion
                + ", pollThresholdKb=" + pollThresholdKb + ", maxDirectIoSizeKb=" + maxDirectIoSizeKb
                + ", driverStatusFlags=" + driverStatusFlags + ", driverControlFlags=" + driverControlFlags
                + ", featureFlags=" + featureFlags + ", maxDeviceCacheSizeKb=" + maxDeviceCacheSizeKb
                + ", perBufferCacheSizeKb=" + perBufferCacheSizeKb + ", maxDevicePinnedMemSizeKb="
                + maxDevicePinnedMemSizeKb + ", maxBatchIoSize=" + maxBatchIoSize + ", maxBatchIoTimeoutMsecs="
                + maxBatchIoTimeoutMsecs + ']';
    }
}
