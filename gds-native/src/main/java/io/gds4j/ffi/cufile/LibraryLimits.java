package io.gds4j.ffi.cufile;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.SizeParameter;

/**
 * Limits of the running driver. The library always reports defaults in its properties, whatever it was opened with or
 * told since. So its parameters, and the limits set here, are reported instead.
 */
final class LibraryLimits {
    private static final long UNSET = -1;
    /** CU_FILE_STREAMS_SUPPORTED of the feature flags. */
    private static final int STREAMS = 1 << 2;
    /** CU_FILE_USE_POLL_MODE of the control flags. */
    private static final int POLL = 1;

    private final CuFileLibrary library;
    private final boolean streams;
    /** Asked once: a running library reopens itself for this question, under its own transfers. */
    private final DriverProperties atOpening;
    private boolean poll;
    private long pollThresholdKb = UNSET;
    private long maxDirectIoSizeKb = UNSET;
    private long maxCacheSizeKb = UNSET;
    private long maxPinnedMemSizeKb = UNSET;

    LibraryLimits(Opening opening) {
        this.library = opening.library();
        this.streams = opening.settings().allowsStreams();
        this.atOpening = merged(opening.properties());
        this.poll = library.has(CuFileFunction.GET_PARAMETER_BOOL)
                && library.getParameterBool(BoolParameter.PROPERTIES_USE_POLL_MODE.index());
    }

    /**
     * Keeps the mode and reports it. It takes effect by the configuration, when the library is opened. The running
     * library is never told: transfers beside that call crashed with a division by zero.
     */
    void setPollMode(boolean wanted, long thresholdKb) {
        Guards.pollThreshold(thresholdKb);
        synchronized (library) {
            poll = wanted;
            pollThresholdKb = thresholdKb;
        }
    }

    /**
     * Keeps the limit; {@link Transfers} cuts requests by it. The running library is never told: its threads would
     * divide by zero in a transfer, and the call follows dangling pointers.
     */
    void setMaxDirectIoSize(long kb) {
        Guards.maxDirectIoSize(kb);
        synchronized (library) {
            maxDirectIoSizeKb = kb;
        }
    }

    void setMaxCacheSize(long kb) {
        Guards.maxCacheSize(kb);
        synchronized (library) {
            library.driverSetMaxCacheSize(kb);
            maxCacheSizeKb = kb;
        }
    }

    /** Keeps the limit; {@link SessionBuffers} counts by it. The running library is never told, for the same reason. */
    void setMaxPinnedMemSize(long kb) {
        Guards.maxPinnedMemSize(kb);
        synchronized (library) {
            maxPinnedMemSizeKb = kb;
        }
    }

    DriverProperties properties() {
        synchronized (library) {
            return new DriverProperties(
                    atOpening.nvfsMajorVersion(),
                    atOpening.nvfsMinorVersion(),
                    set(pollThresholdKb, atOpening.pollThresholdKb()),
                    set(maxDirectIoSizeKb, atOpening.maxDirectIoSizeKb()),
                    atOpening.driverStatusFlags(),
                    poll ? atOpening.driverControlFlags() | POLL : atOpening.driverControlFlags() & ~POLL,
                    atOpening.featureFlags(),
                    set(maxCacheSizeKb, atOpening.maxDeviceCacheSizeKb()),
                    atOpening.perBufferCacheSizeKb(),
                    set(maxPinnedMemSizeKb, atOpening.maxDevicePinnedMemSizeKb()),
                    atOpening.maxBatchIoSize(),
                    atOpening.maxBatchIoTimeoutMsecs());
        }
    }

    private static long set(long wish, long before) {
        return wish != UNSET ? wish : before;
    }

    /** gds4j serves streams, so they are available whenever threads are allowed. */
    private int featureFlags(int told) {
        return streams ? told | STREAMS : told & ~STREAMS;
    }

    private DriverProperties merged(DriverProperties told) {
        return new DriverProperties(
                told.nvfsMajorVersion(),
                told.nvfsMinorVersion(),
                value(SizeParameter.POLLTHRESHOLD_SIZE_KB, told.pollThresholdKb()),
                value(SizeParameter.PROPERTIES_MAX_DIRECT_IO_SIZE_KB, told.maxDirectIoSizeKb()),
                told.driverStatusFlags(),
                told.driverControlFlags(),
                featureFlags(told.featureFlags()),
                value(SizeParameter.PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB, told.maxDeviceCacheSizeKb()),
                value(SizeParameter.PROPERTIES_PER_BUFFER_CACHE_SIZE_KB, told.perBufferCacheSizeKb()),
                value(
                        SizeParameter.PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB,
                        told.maxDevicePinnedMemSizeKb()),
                (int) value(SizeParameter.PROPERTIES_IO_BATCHSIZE, told.maxBatchIoSize()),
                (int) value(SizeParameter.PROPERTIES_BATCH_IO_TIMEOUT_MS, told.maxBatchIoTimeoutMsecs()));
    }

    private long value(SizeParameter parameter, long told) {
        return library.has(CuFileFunction.GET_PARAMETER_SIZE_T)
                ? library.getParameterSizeT(parameter.index())
                : told;
    }
}
