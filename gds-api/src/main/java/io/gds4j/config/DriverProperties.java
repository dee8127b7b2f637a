package io.gds4j.config;

import org.jspecify.annotations.Nullable;

/**
 * Versions, limits and features of an open driver ({@code cuFileDriverGetProperties}, {@code CUfileDrvProps_t}).
 *
 * @since 0.1
 */
public final class DriverProperties {
    private final Parts parts;

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
        parts = new Parts(nvfsMajorVersion, nvfsMinorVersion, pollThresholdKb, maxDirectIoSizeKb, driverStatusFlags,
                driverControlFlags, featureFlags, maxDeviceCacheSizeKb, perBufferCacheSizeKb, maxDevicePinnedMemSizeKb,
                maxBatchIoSize, maxBatchIoTimeoutMsecs);
    }

    /** {@return major version of nvidia-fs, 0 without it} */
    public int nvfsMajorVersion() {
        return parts.nvfsMajorVersion;
    }

    /** {@return minor version of nvidia-fs, 0 without it} */
    public int nvfsMinorVersion() {
        return parts.nvfsMinorVersion;
    }

    /** {@return largest request to poll for in poll mode, KiB} */
    public long pollThresholdKb() {
        return parts.pollThresholdKb;
    }

    /** {@return largest size of one request to the kernel, KiB} */
    public long maxDirectIoSizeKb() {
        return parts.maxDirectIoSizeKb;
    }

    /** {@return bits of {@code CUfileDriverStatusFlags_t}} */
    public int driverStatusFlags() {
        return parts.driverStatusFlags;
    }

    /** {@return bits of {@code CUfileDriverControlFlags_t}: 1 poll mode, 2 compat mode allowed} */
    public int driverControlFlags() {
        return parts.driverControlFlags;
    }

    /** {@return bits of {@code CUfileFeatureFlags_t}: 1 dynamic routing, 2 batch, 4 streams, 8 parallel I/O} */
    public int featureFlags() {
        return parts.featureFlags;
    }

    /** {@return GPU memory for all bounce buffers, KiB} */
    public long maxDeviceCacheSizeKb() {
        return parts.maxDeviceCacheSizeKb;
    }

    /** {@return size of one GPU bounce buffer, KiB} */
    public long perBufferCacheSizeKb() {
        return parts.perBufferCacheSizeKb;
    }

    /** {@return GPU memory that may be registered, KiB} */
    public long maxDevicePinnedMemSizeKb() {
        return parts.maxDevicePinnedMemSizeKb;
    }

    /** {@return largest number of entries of one batch} */
    public int maxBatchIoSize() {
        return parts.maxBatchIoSize;
    }

    /** {@return longest single sleep while waiting for a batch, milliseconds} */
    public int maxBatchIoTimeoutMsecs() {
        return parts.maxBatchIoTimeoutMsecs;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof DriverProperties that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "DriverProperties");
    }

    private record Parts(int nvfsMajorVersion, int nvfsMinorVersion, long pollThresholdKb, long maxDirectIoSizeKb,
            int driverStatusFlags, int driverControlFlags, int featureFlags, long maxDeviceCacheSizeKb,
            long perBufferCacheSizeKb, long maxDevicePinnedMemSizeKb, int maxBatchIoSize, int maxBatchIoTimeoutMsecs) {}
}
