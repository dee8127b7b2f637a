package io.gds4j.ffi.verbs;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.DynamicLoader;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import java.util.List;
import java.util.function.Supplier;

/**
 * The RDMA devices of this machine.
 *
 * <pre>{@code
 * if (RdmaDevices.detect() instanceof RdmaAvailability.Available rdma) {
 *     try (ProtectionDomain domain = rdma.verbs().open(rdma.devices().getFirst());
 *             MemoryRegion region = domain.register(dmaBuf, Set.of(RdmaAccess.LOCAL_WRITE))) {
 *         post(region.localKey());
 *     }
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe.
 *
 * @since 0.1
 */
public final class RdmaDevices {
    private static final String LIBRARY = "libibverbs.so.1";

    private final VerbsCalls calls;
    private final Supplier<CudaAvailability> cuda;

    RdmaDevices(VerbsCalls calls, Supplier<CudaAvailability> cuda) {
        this.calls = calls;
        this.cuda = cuda;
    }

    /** {@return whether there are RDMA devices, now; never throws} */
    public static RdmaAvailability detect() {
        return probe(LIBRARY);
    }

    static RdmaAvailability probe(String library) {
        return switch (DynamicLoader.open(library)) {
            case DynamicLoader.Unlinked unlinked -> new RdmaAvailability.Unavailable(
                    unlinked.reason(), "start the program as that says");
            case DynamicLoader.NotLoaded not -> new RdmaAvailability.Unavailable(
                    "no RDMA device: " + not.reason(), "install rdma-core (libibverbs1)");
            case DynamicLoader.Loaded loaded -> detect(new VerbsCalls(loaded.symbols()), CudaDriver::detect);
        };
    }

    /** @param cuda called when GPU memory is registered */
    static RdmaAvailability detect(VerbsCalls calls, Supplier<CudaAvailability> cuda) {
        if (!calls.missing().isEmpty()) {
            return new RdmaAvailability.Unavailable(
                    "libibverbs lacks " + String.join(", ", calls.missing()), "install a newer rdma-core");
        }
        List<String> devices = calls.deviceNames();
        return devices.isEmpty()
                ? new RdmaAvailability.Unavailable(
                        "no RDMA device", "see what ibv_devices lists; in a container add --device /dev/infiniband")
                : new RdmaAvailability.Available(devices, new RdmaDevices(calls, cuda));
    }

    /**
     * Opens a device and makes a protection domain on it ({@code ibv_open_device}, {@code ibv_alloc_pd}).
     *
     * @param device name of the device
     * @return the domain, to be closed
     * @throws CuFileException DEVICE_NOT_FOUND if there is none of this name, IO_ERROR with the errno if it cannot be opened
     */
    public ProtectionDomain open(String device) {
        long context = calls.openDevice(device);
        if (context == 0) {
            throw CuFileException.of(
                    CuFileError.DEVICE_NOT_FOUND,
                    "ibv_open_device",
                    "there is no RDMA device %s: %s".formatted(device, calls.deviceNames()));
        }
        return ProtectionDomain.on(calls, cuda, device, context);
    }
}
