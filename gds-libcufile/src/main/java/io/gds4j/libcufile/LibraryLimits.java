package io.gds4j.libcufile;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.SizeParameter;
import io.gds4j.ffi.cufile.CuFileFunction;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.spi.DriverLimits;

/**
 * The limits of the open driver. The library always reports default values in its properties, even after it was opened
 * with others. So this class reports the library's parameters and the limits set here.
 */
final class LibraryLimits {
    /** CU_FILE_STREAMS_SUPPORTED of the feature flags. */
    private static final int STREAMS = 1 << 2;

    private final CuFileLibrary library;
    private final boolean streams;
    /** Asked for once: a running library reopens itself to answer, under its own transfers. */
    private final DriverProperties atOpen;
    private final DriverLimits limits;

    LibraryLimits(OpenLibrary openLibrary) {
        this.library = openLibrary.library();
        this.streams = openLibrary.settings().allowsStreams();
        this.atOpen = merged(openLibrary.properties());
        this.limits = new DriverLimits(
                atOpen,
                library.has(CuFileFunction.GET_PARAMETER_BOOL)
                        && library.getParameterBool(BoolParameter.PROPERTIES_USE_POLL_MODE.index()));
    }

    /**
     * Keeps the mode and reports it. It takes effect by the configuration, when the library is opened. The running
     * library is never told: transfers beside that call crashed with a division by zero.
     */
    void setPollMode(boolean wanted, long thresholdKb) {
        limits.setPollMode(wanted, thresholdKb);
    }

    /**
     * Keeps the limit; {@link io.gds4j.libcufile.guard.Transfers} cuts requests by it. The running library is never told: its threads would
     * divide by zero in a transfer, and the call follows dangling pointers.
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

    /** Keeps the limit; {@link io.gds4j.libcufile.guard.SessionBuffers} counts by it. The running library is never told, for the same reason. */
    void setMaxPinnedMemSize(long kb) {
        limits.setMaxPinnedMemSize(kb);
    }

    DriverProperties properties() {
        return limits.in(atOpen);
    }

    /** gds4j serves streams, so they are available whenever threads are allowed. */
    private int featureFlags(int reported) {
        return streams ? reported | STREAMS : reported & ~STREAMS;
    }

    private DriverProperties merged(DriverProperties reported) {
        return DriverProperties.of(
                reported.nvfsMajorVersion(),
                reported.nvfsMinorVersion(),
                value(SizeParameter.POLLTHRESHOLD_SIZE_KB, reported.pollThresholdKb()),
                value(SizeParameter.PROPERTIES_MAX_DIRECT_IO_SIZE_KB, reported.maxDirectIoSizeKb()),
                reported.driverStatusFlags(),
                reported.driverControlFlags(),
                featureFlags(reported.featureFlags()),
                value(SizeParameter.PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB, reported.maxDeviceCacheSizeKb()),
                value(SizeParameter.PROPERTIES_PER_BUFFER_CACHE_SIZE_KB, reported.perBufferCacheSizeKb()),
                value(SizeParameter.PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB, reported.maxDevicePinnedMemSizeKb()),
                (int) value(SizeParameter.PROPERTIES_IO_BATCHSIZE, reported.maxBatchIoSize()),
                (int) value(SizeParameter.PROPERTIES_BATCH_IO_TIMEOUT_MS, reported.maxBatchIoTimeoutMsecs()));
    }

    private long value(SizeParameter parameter, long reported) {
        return library.has(CuFileFunction.GET_PARAMETER_SIZE_T)
                ? library.getParameterSizeT(parameter.index())
                : reported;
    }
}
