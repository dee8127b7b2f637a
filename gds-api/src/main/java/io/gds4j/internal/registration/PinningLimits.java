package io.gds4j.internal.registration;

import io.gds4j.error.CuFileException;
import io.gds4j.spi.DriverControls;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntToLongFunction;

/** Bytes of a GPU's memory that may be registered: the driver's limit, and at most what its BAR1 aperture holds. */
final class PinningLimits implements IntToLongFunction {
    private static final long KIB = 1024;
    /** Bytes of each aperture that the GPU's driver keeps for itself. */
    private static final long RESERVED = 32L << 20;

    private final DriverControls controls;
    private final Map<Integer, Long> apertures = new ConcurrentHashMap<>();

    PinningLimits(DriverControls controls) {
        this.controls = controls;
    }

    @Override
    public long applyAsLong(int device) {
        long allowed = bytes(controls.driverGetProperties().maxDevicePinnedMemSizeKb());
        return Math.min(allowed, apertures.computeIfAbsent(device, this::aperture));
    }

    /** Returns no limit if the size is unknown: then the backend refuses what does not fit. */
    private long aperture(int device) {
        try {
            long bytes = bytes(controls.getBarSizeInKb(device));
            return bytes > RESERVED ? bytes - RESERVED : Long.MAX_VALUE;
        } catch (CuFileException e) {
            return Long.MAX_VALUE;
        }
    }

    private static long bytes(long kb) {
        return kb > Long.MAX_VALUE / KIB ? Long.MAX_VALUE : kb * KIB;
    }
}
