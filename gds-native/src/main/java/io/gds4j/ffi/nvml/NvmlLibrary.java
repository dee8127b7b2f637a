package io.gds4j.ffi.nvml;

import io.gds4j.ffi.DynamicLoader;

/** Finds NVML, which comes with NVIDIA's driver. */
public final class NvmlLibrary {
    private static final String LIBRARY = "libnvidia-ml.so.1";

    /** The first answer holds for the process: the library stays loaded and initialised. */
    private static final class Process {
        static final NvmlAvailability FOUND = probe(LIBRARY);
    }

    private NvmlLibrary() {
    }

    /** Returns whether NVML is available; never throws. Later calls repeat the answer of the first. */
    public static NvmlAvailability detect() {
        return Process.FOUND;
    }

    static NvmlAvailability probe(String library) {
        return switch (DynamicLoader.open(library)) {
            case DynamicLoader.Unlinked unlinked -> new NvmlAvailability.Unavailable(
                    unlinked.reason(), "start the program as that says");
            case DynamicLoader.NotLoaded not -> new NvmlAvailability.Unavailable(
                    "no NVML: " + not.reason(), "install the NVIDIA driver; in a container add the capability utility");
            case DynamicLoader.Loaded loaded -> initialise(new FfmNvml(loaded.symbols()));
        };
    }

    static NvmlAvailability initialise(FfmNvml nvml) {
        if (!nvml.missing().isEmpty()) {
            return new NvmlAvailability.Unavailable(
                    "NVML lacks " + String.join(", ", nvml.missing()),
                    "install an NVIDIA driver of CUDA 11.4 or newer");
        }
        int result = nvml.init();
        return result == FfmNvml.SUCCESS
                ? new NvmlAvailability.Available(nvml)
                : new NvmlAvailability.Unavailable(
                        "nvmlInit: " + nvml.describe(result), "see what nvidia-smi says of the driver");
    }
}
