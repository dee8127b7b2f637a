package io.gds4j.tools.check;

import io.gds4j.diagnosis.Gpu;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.nvml.Nvml;
import io.gds4j.ffi.nvml.NvmlAvailability;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What NVML tells of a GPU at the moment.
 *
 * @param gpu number of the GPU
 * @param bar1FreeBytes bytes of BAR1 that registrations can still take, without the driver's reserve; empty if unknown
 * @param persistence whether persistence mode is on; empty if unknown
 */
record GpuState(int gpu, OptionalLong bar1FreeBytes, Optional<Boolean> persistence) {

    /** What the driver keeps of BAR1 for itself: 32 MiB, also of the smallest BAR1 of 256 MiB. */
    private static final long RESERVE_BYTES = 32L << 20;
    /** Below this, registrations of the default size of a slab fail soon. */
    private static final long LITTLE_BYTES = 64L << 20;

    static GpuState of(Gpu gpu, NvmlAvailability nvml) {
        Optional<Nvml.Gpu> known;
        try {
            known = gpu.pciId().flatMap(id -> nvml.nvml().map(library -> library.byPciBusId(id)));
        } catch (CuFileException e) {
            known = Optional.empty();
        }
        return new GpuState(
                gpu.index(),
                known.flatMap(Nvml.Gpu::bar1)
                        .map(bar1 -> OptionalLong.of(Math.max(0, bar1.free() - RESERVE_BYTES)))
                        .orElseGet(OptionalLong::empty),
                known.flatMap(Nvml.Gpu::persistence));
    }

    boolean hasLittleBar1() {
        return bar1FreeBytes.isPresent() && bar1FreeBytes.getAsLong() < LITTLE_BYTES;
    }
}
