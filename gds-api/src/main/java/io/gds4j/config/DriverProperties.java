package io.gds4j.config;

/**
 * Versions, limits and features of an open driver ({@code cuFileDriverGetProperties}, {@code CUfileDrvProps_t}).
 *
 * @since 0.1
 */
public sealed interface DriverProperties permits DriverPropertiesParts {
    /** {@return major version of nvidia-fs, 0 without it} */
    int nvfsMajorVersion();

    /** {@return minor version of nvidia-fs, 0 without it} */
    int nvfsMinorVersion();

    /** {@return largest request to poll for in poll mode, KiB} */
    long pollThresholdKb();

    /** {@return largest size of one request to the kernel, KiB} */
    long maxDirectIoSizeKb();

    /** {@return bits of {@code CUfileDriverStatusFlags_t}} */
    int driverStatusFlags();

    /** {@return bits of {@code CUfileDriverControlFlags_t}: 1 poll mode, 2 compat mode allowed} */
    int driverControlFlags();

    /** {@return bits of {@code CUfileFeatureFlags_t}: 1 dynamic routing, 2 batch, 4 streams, 8 parallel I/O} */
    int featureFlags();

    /** {@return GPU memory for all bounce buffers, KiB} */
    long maxDeviceCacheSizeKb();

    /** {@return size of one GPU bounce buffer, KiB} */
    long perBufferCacheSizeKb();

    /** {@return GPU memory that may be registered, KiB} */
    long maxDevicePinnedMemSizeKb();

    /** {@return largest number of entries of one batch} */
    int maxBatchIoSize();

    /** {@return longest single sleep while waiting for a batch, milliseconds} */
    int maxBatchIoTimeoutMsecs();

    /**
     * Makes a value.
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
     * @return the value
     */
    static DriverProperties of(int nvfsMajorVersion, int nvfsMinorVersion, long pollThresholdKb, long maxDirectIoSizeKb,
            int driverStatusFlags, int driverControlFlags, int featureFlags, long maxDeviceCacheSizeKb,
            long perBufferCacheSizeKb, long maxDevicePinnedMemSizeKb, int maxBatchIoSize, int maxBatchIoTimeoutMsecs) {
        return new DriverPropertiesParts(nvfsMajorVersion, nvfsMinorVersion, pollThresholdKb, maxDirectIoSizeKb,
                driverStatusFlags, driverControlFlags, featureFlags, maxDeviceCacheSizeKb, perBufferCacheSizeKb,
                maxDevicePinnedMemSizeKb, maxBatchIoSize, maxBatchIoTimeoutMsecs);
    }
}
