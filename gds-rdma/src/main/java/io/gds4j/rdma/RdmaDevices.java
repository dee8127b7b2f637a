package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.verbs.Verbs;
import io.gds4j.ffi.verbs.VerbsLibrary;
import java.util.List;
import java.util.Objects;
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
@Experimental
public final class RdmaDevices {
    private final Verbs verbs;
    private final Supplier<CudaAvailability> cuda;

    private RdmaDevices(Verbs verbs, Supplier<CudaAvailability> cuda) {
        this.verbs = verbs;
        this.cuda = cuda;
    }

    /** {@return whether there are RDMA devices, now; never throws} */
    public static RdmaAvailability detect() {
        return probe(VerbsLibrary.NAME);
    }

    static RdmaAvailability probe(String library) {
        return switch (VerbsLibrary.open(library)) {
            case VerbsLibrary.Missing missing -> new RdmaAvailability.Unavailable(missing.reason(), missing.remedy());
            case VerbsLibrary.Loaded loaded -> of(loaded.verbs(), CudaDriver::detect);
        };
    }

    /** @param cuda called when GPU memory is registered */
    static RdmaAvailability of(Verbs verbs, Supplier<CudaAvailability> cuda) {
        List<String> devices = verbs.deviceNames();
        return devices.isEmpty()
                ? new RdmaAvailability.Unavailable(
                        "no RDMA device", "see what ibv_devices lists; in a container add --device /dev/infiniband")
                : new RdmaAvailability.Available(devices, new RdmaDevices(verbs, cuda));
    }

    /**
     * Opens a device and makes a protection domain on it ({@code ibv_open_device}, {@code ibv_alloc_pd}).
     *
     * @param device name of the device
     * @return the domain, to be closed
     * @throws CuFileException DEVICE_NOT_FOUND if there is none of this name, IO_ERROR with the errno if it cannot be opened
     */
    public ProtectionDomain open(String device) {
        long context = verbs.openDevice(Objects.requireNonNull(device, "device"));
        if (context == 0) {
            throw RdmaFailure.of(
                    CuFileError.DEVICE_NOT_FOUND,
                    "ibv_open_device", Errno.ENODEV,
                    "there is no RDMA device %s: %s".formatted(device, verbs.deviceNames()));
        }
        if (context < 0) {
            throw RdmaFailure.of(
                    CuFileError.IO_ERROR, "ibv_open_device", (int) -context, device + " cannot be opened");
        }
        return ProtectionDomain.on(verbs, cuda, device, context);
    }
}
