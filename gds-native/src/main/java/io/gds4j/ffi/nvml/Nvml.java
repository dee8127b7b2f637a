package io.gds4j.ffi.nvml;

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
    NvmlGpu byPciBusId(String pciBusId);

    /**
     * Returns the GPU with a UUID.
     *
     * @param uuid {@code GPU-} and 32 hexadecimal digits in groups
     * @throws io.gds4j.error.CuFileException DEVICE_NOT_FOUND if NVML knows none of this name, CUDA_DRIVER_ERROR for other
     *         failures
     */
    NvmlGpu byUuid(String uuid);
}
