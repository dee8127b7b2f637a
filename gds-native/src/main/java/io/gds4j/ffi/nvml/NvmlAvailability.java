package io.gds4j.ffi.nvml;

import java.util.Optional;

/** Whether NVML is there, and if not, why. */
public sealed interface NvmlAvailability {
    /** NVML, if it is there. */
    Optional<Nvml> nvml();

    /** It is loaded and initialised. */
    record Available(Nvml library) implements NvmlAvailability {
        @Override
        public Optional<Nvml> nvml() {
            return Optional.of(library);
        }
    }

    /**
     * It is not.
     *
     * @param reason what is missing, one line
     * @param remedy what a person could do about it, one line
     */
    record Unavailable(String reason, String remedy) implements NvmlAvailability {
        @Override
        public Optional<Nvml> nvml() {
            return Optional.empty();
        }
    }
}
