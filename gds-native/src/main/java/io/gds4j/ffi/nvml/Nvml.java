package io.gds4j.ffi.nvml;

import java.util.Optional;
import java.util.OptionalInt;

/** NVML, initialised. Thread-safe. No method needs or makes a CUDA context. */
public interface Nvml {
    /** Returns the version of the driver, such as {@code 580.126.09}. */
    String driverVersion();

    /**
     * Returns the GPU at an address of the PCI bus.
     *
     * @param pciBusId domain:bus:device.function, as {@code cuDeviceGetPCIBusId} writes it
     * @throws io.gds4j.error.CuFileException DEVICE_NOT_FOUND if NVML knows none there, CUDA_DRIVER_ERROR for other failures
     */
    Gpu byPciBusId(String pciBusId);

    /**
     * Returns the GPU with a UUID.
     *
     * @param uuid {@code GPU-} and 32 hexadecimal digits in groups
     * @throws io.gds4j.error.CuFileException DEVICE_NOT_FOUND if NVML knows none of this name, CUDA_DRIVER_ERROR for other
     *         failures
     */
    Gpu byUuid(String uuid);

    /**
     * What NVML tells of one GPU.
     *
     * @param name product name
     * @param uuid as nvidia-smi writes it
     * @param bar1 its BAR1 aperture; empty for a GPU without one, such as a virtual GPU
     * @param nvLinks number of its NVLinks that are active; empty if the GPU or the driver does not tell
     * @param persistence whether the driver keeps the GPU ready while no process uses it; empty if the GPU or the driver does not tell
     */
    record Gpu(
            String name, String uuid, Optional<Bar1> bar1, OptionalInt nvLinks, Optional<Boolean> persistence) {
    }

    /**
     * The aperture through which other PCI devices reach a GPU's memory, in bytes, at the time of the call.
     *
     * @param total bytes of the aperture; the driver reserves some
     * @param free bytes that can be mapped
     * @param used bytes that are mapped
     */
    record Bar1(long total, long free, long used) {
    }
}
