package io.gds4j.ffi.nvml;

import java.util.Optional;

/**
 * What NVML tells of one GPU.
 *
 * @param name product name
 * @param uuid as nvidia-smi writes it
 * @param bar1 its BAR1 aperture; empty for a GPU without one, such as a virtual GPU
 */
public record NvmlGpu(String name, String uuid, Optional<Bar1> bar1) {
}
