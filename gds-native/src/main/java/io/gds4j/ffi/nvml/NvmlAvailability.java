package io.gds4j.ffi.nvml;

import java.util.Optional;

/** Whether NVML is available, and if not, why. */
public sealed interface NvmlAvailability {
    /** Returns NVML if it is available. */
    Optional<Nvml> nvml();

    /** NVML is loaded and initialised. */
    record Available(Nvml library) implements NvmlAvailability {
        @Override
        public Optional<Nvml> nvml() {
            return Optional.of(library);
        }
    }

    /**
     * NVML is not available.
     *
     * @param reason the cause, one line
     * @param remedy what to do about it, one line
     */
    record Unavailable(String reason, String remedy) implements NvmlAvailability {
        @Override
        public Optional<Nvml> nvml() {
            return Optional.empty();
        }
    }
}
