package io.gds4j.config;

/**
 * What an open driver says of itself ({@code cuFileDriverGetProperties}, {@code CUfileDrvProps_t}).
 *
 * @param nvfsMajorVersion version of nvidia-fs, 0 where it is not used
 * @param nvfsMinorVersion version of nvidia-fs, 0 where it is not used
 * @param pollThresholdKb requests up to this size are polled for when poll mode is on, KiB
 * @param maxDirectIoSizeKb bytes of one request to the kernel at most, KiB
 * @param driverStatusFlags bits of {@code CUfileDriverStatusFlags_t}
 * @param driverControlFlags bits of {@code CUfileDriverControlFlags_t}: 1 poll mode, 2 compat mode allowed
 * @param featureFlags bits of {@code CUfileFeatureFlags_t}: 1 dynamic routing, 2 batch, 4 streams, 8 parallel I/O
 * @param maxDeviceCacheSizeKb GPU bounce buffers, KiB
 * @param perBufferCacheSizeKb one GPU bounce buffer, KiB
 * @param maxDevicePinnedMemSizeKb memory that may be registered, KiB
 * @param maxBatchIoSize entries of one batch
 * @param maxBatchIoTimeoutMsecs slice of a batch's wait, milliseconds
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
