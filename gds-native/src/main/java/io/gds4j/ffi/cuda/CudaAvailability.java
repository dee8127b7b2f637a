package io.gds4j.ffi.cuda;

import java.util.Optional;

/** Whether this machine has a CUDA driver and a GPU, and if not, why. */
public sealed interface CudaAvailability {
    /** Returns the driver if there is one with a GPU. */
    Optional<Cuda> cuda();

    /** Returns the driver's contexts, shared by all users of this answer. */
    Optional<CudaContexts> cudaContexts();

    /** Returns the number of GPUs that this process sees; 0 if unavailable. */
    int deviceCount();

    /**
     * The driver is loaded and initialised; that made no context.
     *
     * @param driver calls of the driver
     * @param driverVersion newest CUDA version that it supports: 1000 × major + 10 × minor
     * @param deviceCount GPUs that this process sees, 1 or more
     * @param contexts contexts of the driver
     */
    record Available(Cuda driver, int driverVersion, int deviceCount, CudaContexts contexts)
            implements
                CudaAvailability {
        /** Has contexts of its own: its users know nothing of streams that users of another answer make wait. A process asks once. */
        public Available(Cuda driver, int driverVersion, int deviceCount) {
            this(driver, driverVersion, deviceCount, new CudaContexts(driver));
        }

        @Override
        public Optional<CudaContexts> cudaContexts() {
            return Optional.of(contexts);
        }

        @Override
        public Optional<Cuda> cuda() {
            return Optional.of(driver);
        }
    }

    /**
     * There is no driver with a GPU.
     *
     * @param reason the cause, one line
     * @param remedy what to do about it, one line
     */
    record Unavailable(String reason, String remedy) implements CudaAvailability {
        @Override
        public Optional<Cuda> cuda() {
            return Optional.empty();
        }

        @Override
        public Optional<CudaContexts> cudaContexts() {
            return Optional.empty();
        }

        @Override
        public int deviceCount() {
            return 0;
        }
    }
}
