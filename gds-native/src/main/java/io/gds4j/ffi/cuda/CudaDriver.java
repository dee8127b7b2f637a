package io.gds4j.ffi.cuda;

/** Finds the CUDA driver. */
public final class CudaDriver {
    private CudaDriver() {
    }

    /** Whether there is a driver with a GPU; never throws, creates no context. */
    public static CudaAvailability detect() {
        return new CudaAvailability.Unavailable("this build makes no CUDA calls", "use host memory");
    }
}
