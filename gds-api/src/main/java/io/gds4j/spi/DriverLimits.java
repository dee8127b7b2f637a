package io.gds4j.spi;

import io.gds4j.config.ConfigKey;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DriverProperties;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;

/**
 * The limits that a program may change while the driver runs: the values of one session. The configuration defines their
 * ranges. Thread-safe.
 *
 * @since 0.1
 */
public final class DriverLimits {
    private static final int POLL_MODE = 1;

    private boolean poll;
    private long pollThresholdKb;
    private volatile long maxDirectIoKb;
    private long maxCacheKb;
    private volatile long maxPinnedKb;

    /**
     * Takes the limits of a configuration.
     *
     * @param config the configuration
     */
    public DriverLimits(CuFileConfig config) {
        this.poll = config.get(CuFileKeys.USE_POLL_MODE);
        this.pollThresholdKb = config.get(CuFileKeys.POLL_MODE_MAX_SIZE_KB);
        this.maxDirectIoKb = config.get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB);
        this.maxCacheKb = config.get(CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB);
        this.maxPinnedKb = config.get(CuFileKeys.MAX_DEVICE_PINNED_MEM_SIZE_KB);
    }

    /**
     * Takes the limits of an open driver.
     *
     * @param properties the driver's properties
     * @param poll whether the driver polls
     */
    public DriverLimits(DriverProperties properties, boolean poll) {
        this.poll = poll;
        this.pollThresholdKb = properties.pollThresholdKb();
        this.maxDirectIoKb = properties.maxDirectIoSizeKb();
        this.maxCacheKb = properties.maxDeviceCacheSizeKb();
        this.maxPinnedKb = properties.maxDevicePinnedMemSizeKb();
    }

    /**
     * Checks an argument of {@code cuFileDriverSetPollMode}.
     *
     * @param thresholdKb KiB
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT out of range
     */
    public static void checkPollThreshold(long thresholdKb) {
        check("cuFileDriverSetPollMode", CuFileKeys.POLL_MODE_MAX_SIZE_KB, thresholdKb);
    }

    /**
     * Checks the argument of {@code cuFileDriverSetMaxDirectIOSize}.
     *
     * @param kb KiB
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT out of range
     */
    public static void checkMaxDirectIoSize(long kb) {
        check("cuFileDriverSetMaxDirectIOSize", CuFileKeys.MAX_DIRECT_IO_SIZE_KB, kb);
    }

    /**
     * Checks the argument of {@code cuFileDriverSetMaxCacheSize}.
     *
     * @param kb KiB
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT out of range
     */
    public static void checkMaxCacheSize(long kb) {
        check("cuFileDriverSetMaxCacheSize", CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB, kb);
    }

    /**
     * Checks the argument of {@code cuFileDriverSetMaxPinnedMemSize}.
     *
     * @param kb KiB
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT out of range
     */
    public static void checkMaxPinnedMemSize(long kb) {
        check("cuFileDriverSetMaxPinnedMemSize", CuFileKeys.MAX_DEVICE_PINNED_MEM_SIZE_KB, kb);
    }

    private static void check(String function, ConfigKey<Long> key, long kb) {
        if (!key.accepts(kb)) {
            throw CuFileException.of(
                    CuFileError.DRIVER_UNSUPPORTED_LIMIT,
                    function,
                    "%s is %s, allowed: %s".formatted(key.name(), kb, key.allowed()));
        }
    }

    /**
     * Sets poll mode.
     *
     * @param wanted whether to poll
     * @param thresholdKb largest request that polls, KiB
     */
    public synchronized void setPollMode(boolean wanted, long thresholdKb) {
        checkPollThreshold(thresholdKb);
        poll = wanted;
        pollThresholdKb = thresholdKb;
    }

    /**
     * Sets the size of the largest request to the kernel.
     *
     * @param kb KiB
     */
    public synchronized void setMaxDirectIoSize(long kb) {
        checkMaxDirectIoSize(kb);
        maxDirectIoKb = kb;
    }

    /**
     * Sets the size of the GPU memory for bounce buffers.
     *
     * @param kb KiB
     */
    public synchronized void setMaxCacheSize(long kb) {
        checkMaxCacheSize(kb);
        maxCacheKb = kb;
    }

    /**
     * Sets the size of the GPU memory that may be registered.
     *
     * @param kb KiB
     */
    public synchronized void setMaxPinnedMemSize(long kb) {
        checkMaxPinnedMemSize(kb);
        maxPinnedKb = kb;
    }

    /** {@return size of the largest request to the kernel, KiB} */
    public long maxDirectIoKb() {
        return maxDirectIoKb;
    }

    /** {@return size of the GPU memory that may be registered, KiB} */
    public long maxPinnedKb() {
        return maxPinnedKb;
    }

    /**
     * Returns properties with these limits.
     *
     * @param others the other properties
     * @return the properties
     */
    public synchronized DriverProperties in(DriverProperties others) {
        int control = others.driverControlFlags();
        return DriverProperties.of(
                others.nvfsMajorVersion(),
                others.nvfsMinorVersion(),
                pollThresholdKb,
                maxDirectIoKb,
                others.driverStatusFlags(),
                poll ? control | POLL_MODE : control & ~POLL_MODE,
                others.featureFlags(),
                maxCacheKb,
                others.perBufferCacheSizeKb(),
                maxPinnedKb,
                others.maxBatchIoSize(),
                others.maxBatchIoTimeoutMsecs());
    }
}
