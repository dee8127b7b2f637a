package io.gds4j.ffi.nvml;

import java.util.Optional;
import java.util.OptionalInt;

/**
 * What NVML tells of one GPU.
 *
 * @param name product name
 * @param uuid as nvidia-smi writes it
 * @param bar1 its BAR1 aperture; empty for a GPU without one, such as a virtual GPU
 * @param nvLinks number of its NVLinks that are active; empty if the GPU or the driver does not tell
 * @param persistence whether the driver keeps the GPU ready while no process uses it; empty if the GPU or the driver does not tell
 */
public record NvmlGpu(
        String name, String uuid, Optional<Bar1> bar1, OptionalInt nvLinks, Optional<Boolean> persistence) {

    /**
     * The aperture through which other PCI devices reach a GPU's memory, in bytes, at the time of the call.
     *
     * @param total bytes of the aperture; the driver reserves some
     * @param free bytes that can be mapped
     * @param used bytes that are mapped
     */
    public record Bar1(long total, long free, long used) {
    }
}
