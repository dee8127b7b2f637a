package io.gds4j.ffi.cufile;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.SizeParameter;
import io.gds4j.spi.DriverLimits;

/**
 * Limits of the running driver. The library goes on to show defaults in its properties, whatever it was opened with and told
 * since: so parameters and what was set here are shown in their place.
 */
final class LibraryLimits {
    /** CU_FILE_STREAMS_SUPPORTED of the feature flags. */
    private static final int STREAMS = 1 << 2;

    private final CuFileLibrary library;
    private final boolean streams;
    /** Asked once: a running library opens itself again for the question, under its own transfers. */
    private final DriverProperties atOpening;
    private final DriverLimits limits;

    LibraryLimits(Opening opening) {
        this.library = opening.library();
        this.streams = opening.settings().allowsStreams();
        this.atOpening = merged(opening.properties());
        this.limits = new DriverLimits(
                atOpening,
                library.has(CuFileFunction.GET_PARAMETER_BOOL)
                        && library.getParameterBool(BoolParameter.PROPERTIES_USE_POLL_MODE.index()));
    }

    /**
     * Kept and shown: it comes into force by the configuration, when the library is opened. A running one is never told, since
     * transfers beside such a call divide by zero.
     */
    void setPollMode(boolean wanted, long thresholdKb) {
        limits.setPollMode(wanted, thresholdKb);
    }

    /**
     * Never told to the running library: its threads would divide by zero in a transfer, and it follows dangling pointers
     * itself. {@link Transfers} cuts by it instead.
     */
    void setMaxDirectIoSize(long kb) {
        limits.setMaxDirectIoSize(kb);
    }

    void setMaxCacheSize(long kb) {
        DriverLimits.checkMaxCacheSize(kb);
        synchronized (library) {
            library.driverSetMaxCacheSize(kb);
            limits.setMaxCacheSize(kb);
        }
    }

    /** Never told to the running library either, for the same reason: {@link SessionBuffers} counts. */
    void setMaxPinnedMemSize(long kb) {
        limits.setMaxPinnedMemSize(kb);
    }

    DriverProperties properties() {
        return limits.in(atOpening);
    }

    /** Streams are ours, hence there whenever they may have threads. */
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
                value(SizeParameter.PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB, told.maxDevicePinnedMemSizeKb()),
                (int) value(SizeParameter.PROPERTIES_IO_BATCHSIZE, told.maxBatchIoSize()),
                (int) value(SizeParameter.PROPERTIES_BATCH_IO_TIMEOUT_MS, told.maxBatchIoTimeoutMsecs()));
    }

    private long value(SizeParameter parameter, long told) {
        return library.has(CuFileFunction.GET_PARAMETER_SIZE_T)
                ? library.getParameterSizeT(parameter.index())
                : told;
    }
}
