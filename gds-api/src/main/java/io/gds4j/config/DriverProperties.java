package io.gds4j.config;

/**
 * Versions, limits and features of an open driver ({@code cuFileDriverGetProperties}, {@code CUfileDrvProps_t}).
 *
 * @param nvfsMajorVersion major version of nvidia-fs, 0 without it
 * @param nvfsMinorVersion minor version of nvidia-fs, 0 without it
 * @param pollThresholdKb largest request to poll for in poll mode, KiB
 * @param maxDirectIoSizeKb largest size of one request to the kernel, KiB
 * @param driverStatusFlags bits of {@code CUfileDriverStatusFlags_t}
 * @param driverControlFlags bits of {@code CUfileDriverControlFlags_t}: 1 poll mode, 2 compat mode allowed
 * @param featureFlags bits of {@code CUfileFeatureFlags_t}: 1 dynamic routing, 2 batch, 4 streams, 8 parallel I/O
 * @param maxDeviceCacheSizeKb GPU memory for all bounce buffers, KiB
 * @param perBufferCacheSizeKb size of one GPU bounce buffer, KiB
 * @param maxDevicePinnedMemSizeKb GPU memory that may be registered, KiB
 * @param maxBatchIoSize largest number of entries of one batch
 * @param maxBatchIoTimeoutMsecs longest single sleep while waiting for a batch, milliseconds
 * @since 0.1
 */
public record DriverProperties(
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
}
