package io.gds4j.ffi.nvml;

/** NVML, initialised. Thread-safe; nothing here needs or makes a CUDA context. */
public interface Nvml {
    /** Version of the driver, such as {@code 580.126.09}. */
    String driverVersion();

    /**
     * A GPU by where it is on the PCI bus.
     *
     * @param pciBusId domain:bus:device.function, as {@code cuDeviceGetPCIBusId} writes it
     * @throws io.gds4j.error.CuFileException DEVICE_NOT_FOUND if NVML knows none there, CUDA_DRIVER_ERROR for other failures
     */
    NvmlGpu byPciBusId(String pciBusId);

    /**
     * A GPU by its name for life.
     *
     * @param uuid {@code GPU-} and 32 hexadecimal digits in groups
     * @throws io.gds4j.error.CuFileException DEVICE_NOT_FOUND if NVML knows none of this name, CUDA_DRIVER_ERROR for other
     *         failures
     */
    NvmlGpu byUuid(String uuid);
}
