package io.gds4j.ffi.cuda;

import java.util.Optional;

/** Whether this machine has a CUDA driver and a GPU, and if not, why. */
public sealed interface CudaAvailability {
    /** The driver, if there is one with a GPU. */
    Optional<Cuda> cuda();

    /** The driver's contexts, one set for all users of this answer. */
    Optional<CudaContexts> cudaContexts();

    /** GPUs that this process sees; 0 where unavailable. */
    int deviceCount();

    /**
     * The driver is loaded and initialised; no context exists because of that.
     *
     * @param driver its calls
     * @param driverVersion newest CUDA version that it serves: 1000 × major + 10 × minor
     * @param deviceCount GPUs that this process sees, 1 or more
     * @param contexts which context serves which memory
     */
    record Available(Cuda driver, int driverVersion, int deviceCount, CudaContexts contexts)
            implements
                CudaAvailability {
        /** With contexts of its own. */
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
     * There is none.
     *
     * @param reason what is missing, one line
     * @param remedy what a person could do about it, one line
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
