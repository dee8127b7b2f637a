package io.gds4j.config;

/** The parts of a {@link DriverProperties}. */
record DriverPropertiesParts(int nvfsMajorVersion, int nvfsMinorVersion, long pollThresholdKb, long maxDirectIoSizeKb,
        int driverStatusFlags, int driverControlFlags, int featureFlags, long maxDeviceCacheSizeKb,
        long perBufferCacheSizeKb, long maxDevicePinnedMemSizeKb, int maxBatchIoSize,
        int maxBatchIoTimeoutMsecs) implements DriverProperties {}
