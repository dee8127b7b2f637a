package io.gds4j.internal.registration;

import io.gds4j.error.CuFileException;
import io.gds4j.spi.CuFileBackend;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntToLongFunction;

/** How much of a GPU's memory may be registered: what the driver allows now, and no more than its BAR1 aperture takes. */
final class PinningLimits implements IntToLongFunction {
    private static final long KIB = 1024;
    /** Of each aperture the GPU's driver keeps so much for itself. */
    private static final long RESERVED = 32L << 20;

    private final CuFileBackend backend;
    private final Map<Integer, Long> apertures = new ConcurrentHashMap<>();

    PinningLimits(CuFileBackend backend) {
        this.backend = backend;
    }

    @Override
    public long applyAsLong(int device) {
        long allowed = bytes(backend.driverGetProperties().maxDevicePinnedMemSizeKb());
        return Math.min(allowed, apertures.computeIfAbsent(device, this::aperture));
    }

    /** Without limit where nobody knows: the backend's refusal will tell. */
    private long aperture(int device) {
        try {
            long bytes = bytes(backend.getBarSizeInKb(device));
            return bytes > RESERVED ? bytes - RESERVED : Long.MAX_VALUE;
        } catch (CuFileException e) {
            return Long.MAX_VALUE;
        }
    }

    private static long bytes(long kb) {
        return kb > Long.MAX_VALUE / KIB ? Long.MAX_VALUE : kb * KIB;
    }
}
