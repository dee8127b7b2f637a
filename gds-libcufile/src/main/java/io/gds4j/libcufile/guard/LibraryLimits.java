package io.gds4j.libcufile.guard;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.SizeParameter;
import io.gds4j.ffi.cufile.CuFileFunction;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.spi.DriverLimits;

/**
 * Limits of the running driver. The library always reports defaults in its properties, whatever it was opened with or
 * told since. So its parameters, and the limits set here, are reported instead.
 */
public final class LibraryLimits {
    /** CU_FILE_STREAMS_SUPPORTED of the feature flags. */
    private static final int STREAMS = 1 << 2;

    private final CuFileLibrary library;
    private final boolean streams;
    /** Asked once: a running library reopens itself for this question, under its own transfers. */
    private final DriverProperties atOpening;
    private final DriverLimits limits;

    public LibraryLimits(OpenLibrary openLibrary) {
        this.library = openLibrary.library();
        this.streams = openLibrary.settings().allowsStreams();
        this.atOpening = merged(openLibrary.properties());
        this.limits = new DriverLimits(
                atOpening,
                library.has(CuFileFunction.GET_PARAMETER_BOOL)
                        && library.getParameterBool(BoolParameter.PROPERTIES_USE_POLL_MODE.index()));
    }

    /**
     * Keeps the mode and reports it. It takes effect by the configuration, when the library is opened. The running
     * library is never told: transfers beside that call crashed with a division by zero.
     */
    public void setPollMode(boolean wanted, long thresholdKb) {
        limits.setPollMode(wanted, thresholdKb);
    }

    /**
     * Keeps the limit; {@link Transfers} cuts requests by it. The running library is never told: its threads would
     * divide by zero in a transfer, and the call follows dangling pointers.
     */
    public void setMaxDirectIoSize(long kb) {
        limits.setMaxDirectIoSize(kb);
    }

    public void setMaxCacheSize(long kb) {
        DriverLimits.checkMaxCacheSize(kb);
        synchronized (library) {
            library.driverSetMaxCacheSize(kb);
            limits.setMaxCacheSize(kb);
        }
    }

    /** Keeps the limit; {@link SessionBuffers} counts by it. The running library is never told, for the same reason. */
    public void setMaxPinnedMemSize(long kb) {
        limits.setMaxPinnedMemSize(kb);
    }

    public DriverProperties properties() {
        return limits.in(atOpening);
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
