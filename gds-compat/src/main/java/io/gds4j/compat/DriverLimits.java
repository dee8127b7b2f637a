package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DriverProperties;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;

/** The limits that a running driver lets a program change, with cuFile's ranges. */
final class DriverLimits {
    private static final int POLL_MODE = 1;
    private static final int COMPAT_ALLOWED = 2;
    private static final int BATCH_IO = 2;
    private static final int STREAM_IO = 4;
    private static final int PARALLEL_IO = 8;
    private static final long KIB = 1024;
    private static final long PAGE_KB = 4;
    private static final long GPU_PAGE_KB = 64;
    private static final long MAX_DIRECT_IO_KB = 16384;

    private final CuFileConfig config;
    private boolean poll;
    private long pollThresholdKb;
    private volatile long maxDirectIoKb;
    private long maxCacheKb;
    private volatile long maxPinnedKb;

    DriverLimits(CuFileConfig config) {
        this.config = config;
        this.poll = config.get(CuFileKeys.USE_POLL_MODE);
        this.pollThresholdKb = config.get(CuFileKeys.POLL_MODE_MAX_SIZE_KB);
        this.maxDirectIoKb = config.get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB);
        this.maxCacheKb = config.get(CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB);
        this.maxPinnedKb = config.get(CuFileKeys.MAX_DEVICE_PINNED_MEM_SIZE_KB);
    }

    /** Memory of GPUs that may be registered now, KiB. */
    long maxPinnedKb() {
        return maxPinnedKb;
    }

    /** Bytes of one request to the kernel at most, a power of two. */
    long largestPiece() {
        return Long.highestOneBit(maxDirectIoKb * KIB);
    }

    synchronized void setPollMode(boolean value, long thresholdKb) {
        if (thresholdKb < PAGE_KB || thresholdKb % PAGE_KB != 0) {
            throw outside("cuFileDriverSetPollMode", thresholdKb, "a multiple of 4 KiB, 4 or more");
        }
        poll = value;
        pollThresholdKb = thresholdKb;
    }

    synchronized void setMaxDirectIoSize(long kb) {
        if (kb < GPU_PAGE_KB || kb > MAX_DIRECT_IO_KB || kb % GPU_PAGE_KB != 0) {
            throw outside("cuFileDriverSetMaxDirectIOSize", kb, "a multiple of 64 KiB, 64 to 16384");
        }
        maxDirectIoKb = kb;
    }

    synchronized void setMaxCacheSize(long kb) {
        if (kb < 0 || kb % PAGE_KB != 0) {
            throw outside("cuFileDriverSetMaxCacheSize", kb, "a multiple of 4 KiB");
        }
        maxCacheKb = kb;
    }

    synchronized void setMaxPinnedMemSize(long kb) {
        if (kb < GPU_PAGE_KB || kb % PAGE_KB != 0) {
            throw outside("cuFileDriverSetMaxPinnedMemSize", kb, "a multiple of 4 KiB, 64 or more");
        }
        maxPinnedKb = kb;
    }

    synchronized DriverProperties properties() {
        // This backend is cuFile's compatible mode: it cannot be forbidden while it serves.
        int control = COMPAT_ALLOWED | (poll ? POLL_MODE : 0);
        boolean parallel = config.get(CuFileKeys.PARALLEL_IO);
        boolean streams = parallel && config.get(CuFileKeys.MAX_IO_THREADS) > 0;
        int features = BATCH_IO | (streams ? STREAM_IO : 0) | (parallel ? PARALLEL_IO : 0);
        return new DriverProperties(
                0,
                0,
                pollThresholdKb,
                maxDirectIoKb,
                0,
                control,
                features,
                maxCacheKb,
                config.get(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB),
                maxPinnedKb,
                config.get(CuFileKeys.IO_BATCHSIZE).intValue(),
                config.get(CuFileKeys.MAX_BATCH_IO_TIMEOUT_MSECS).intValue());
    }

    private static CuFileException outside(String function, long kb, String allowed) {
        return CuFileException.of(
                CuFileError.DRIVER_UNSUPPORTED_LIMIT, function, "%d KiB is not %s".formatted(kb, allowed));
    }
}
