package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DriverProperties;

/** The driver's properties, before a running program changes limits. */
final class CompatProperties {
    private static final int COMPAT_ALLOWED = 2;
    private static final int BATCH_IO = 2;
    private static final int STREAM_IO = 4;
    private static final int PARALLEL_IO = 8;

    private CompatProperties() {
    }

    static DriverProperties of(CuFileConfig config) {
        boolean parallel = config.get(CuFileKeys.PARALLEL_IO);
        boolean streams = parallel && config.get(CuFileKeys.MAX_IO_THREADS) > 0;
        return DriverProperties.of(
                0,
                0,
                config.get(CuFileKeys.POLL_MODE_MAX_SIZE_KB),
                config.get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB),
                0,
                // This backend is cuFile's compatible mode, so the mode is always allowed here.
                COMPAT_ALLOWED,
                BATCH_IO | (streams ? STREAM_IO : 0) | (parallel ? PARALLEL_IO : 0),
                config.get(CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB),
                config.get(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB),
                config.get(CuFileKeys.MAX_DEVICE_PINNED_MEM_SIZE_KB),
                config.get(CuFileKeys.IO_BATCHSIZE).intValue(),
                config.get(CuFileKeys.MAX_BATCH_IO_TIMEOUT_MSECS).intValue());
    }
}
