package io.gds4j.ffi.cuda;

import io.gds4j.ffi.DynamicLoader;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

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

    private static final AtomicBoolean BEGUN = new AtomicBoolean();

    private CudaDriver() {
    }

    /** Returns whether there is a driver with a GPU; never throws, creates no context. Later calls repeat the first answer. */
    public static CudaAvailability detect() {
        return Process.FOUND;
    }

    /**
     * Begins to {@link #detect} on a thread of its own, which ends with that: cuInit takes 0.1 s. Later calls begin nothing. The thread and the
     * caller never wait for each other's classes, because no class that detect initialises leads back to itself; CudaDriverTest checks this.
     *
     * @return waits for it
     */
    public static Runnable begin() {
        Runnable detecting = CudaDriver::detect; // one lambda: each takes 0.5 ms of a new JVM
        if (BEGUN.compareAndSet(false, true)) {
            Thread thread = new Thread(detecting, "gds4j-cuda");
            thread.setDaemon(true);
            try {
                thread.start();
            } catch (OutOfMemoryError e) {
                // the system has no thread left; who needs the driver looks for it by itself
            }
        }
        return detecting;
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
        // no pattern switch, which would link itself while the load waits
        DynamicLoader.Result result = DynamicLoader.open(library);
        if (result instanceof DynamicLoader.Loaded loaded) {
            return initialise(FfmCuda.ofNative(loaded.symbols()));
        }
        if (result instanceof DynamicLoader.NotLoaded not) {
            return new CudaAvailability.Unavailable(
                    "no CUDA driver: " + not.reason(),
                    "install the NVIDIA driver; in a container start it with --gpus all");
        }
        return new CudaAvailability.Unavailable(
                ((DynamicLoader.Unlinked) result).reason(), "start the program as that says");
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
