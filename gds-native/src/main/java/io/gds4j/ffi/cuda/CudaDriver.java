package io.gds4j.ffi.cuda;

import io.gds4j.ffi.DynamicLoader;
import java.util.List;

/**
 * Finds the CUDA driver, without JCuda and without creating a context. With {@code -Dgds4j.cuda=off} gds4j behaves as on a machine
 * without a driver.
 */
public final class CudaDriver {
    /** Property that switches GPUs off for gds4j: {@code off} or {@code auto}, the default. */
    public static final String PROPERTY = "gds4j.cuda";

    private static final String LIBRARY = "libcuda.so.1";

    /** The first answer holds for the process: the library stays loaded, and cuInit has no second try. */
    private static final class Process {
        static final CudaAvailability FOUND = probe(System.getProperty(PROPERTY, "auto"), LIBRARY);
    }

    private CudaDriver() {
    }

    /** Returns whether there is a driver with a GPU; never throws, creates no context. Later calls repeat the first answer. */
    public static CudaAvailability detect() {
        return Process.FOUND;
    }

    static CudaAvailability probe(String mode, String library) {
        if (mode.equals("off")) {
            return new CudaAvailability.Unavailable(
                    "GPUs are switched off by -D" + PROPERTY + "=off", "remove that property");
        }
        if (!mode.equals("auto")) {
            return new CudaAvailability.Unavailable(
                    "-D" + PROPERTY + "=" + mode + " is not known", "allowed are auto and off");
        }
        return switch (DynamicLoader.open(library)) {
            case DynamicLoader.Unlinked unlinked -> new CudaAvailability.Unavailable(
                    unlinked.reason(), "start the program as that says");
            case DynamicLoader.NotLoaded not -> new CudaAvailability.Unavailable(
                    "no CUDA driver: " + not.reason(),
                    "install the NVIDIA driver; in a container start it with --gpus all");
            case DynamicLoader.Loaded loaded -> initialise(FfmCuda.ofNative(loaded.symbols()));
        };
    }

    private static CudaAvailability initialise(FfmCuda cuda) {
        List<String> missing = cuda.missing();
        if (!missing.isEmpty()) {
            return new CudaAvailability.Unavailable(
                    LIBRARY + " lacks " + String.join(", ", missing), "install an NVIDIA driver of CUDA 11.4 or newer");
        }
        return initialise((Cuda) cuda);
    }

    static CudaAvailability initialise(Cuda cuda) {
        int[] version = new int[1];
        int[] count = new int[1];
        int result = cuda.init();
        if (result == Cuda.SUCCESS) {
            result = cuda.driverGetVersion(version);
        }
        if (result == Cuda.SUCCESS) {
            result = cuda.deviceGetCount(count);
        }
        if (result == Cuda.SUCCESS && count[0] == 0) {
            result = Cuda.ERROR_NO_DEVICE;
        }
        if (result == Cuda.SUCCESS) {
            return new CudaAvailability.Available(cuda, version[0], count[0]);
        }
        String name = cuda.errorName(result);
        String text = cuda.errorText(result);
        return new CudaAvailability.Unavailable(
                "cuInit: " + name + (text.isEmpty() ? "" : ": " + text),
                result == Cuda.ERROR_NO_DEVICE
                        ? "see that nvidia-smi lists a GPU and CUDA_VISIBLE_DEVICES does not hide it"
                        : "see what nvidia-smi says of the driver, and the kernel log");
    }
}
