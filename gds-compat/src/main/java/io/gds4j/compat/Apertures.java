package io.gds4j.compat;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.nvml.Nvml;
import io.gds4j.ffi.nvml.Nvml.Bar1;
import io.gds4j.ffi.nvml.NvmlAvailability;
import java.util.Optional;
import java.util.function.Supplier;

/** Finds the sizes of the GPUs' BAR1 apertures with NVML; the CUDA driver does not know them. */
final class Apertures {
    private static final long KIB = 1024;

    private final CudaAvailability cuda;
    private final Supplier<NvmlAvailability> nvml;

    Apertures(CudaAvailability cuda, Supplier<NvmlAvailability> nvml) {
        this.cuda = cuda;
        this.nvml = nvml;
    }

    /** Returns the size in KiB; 0 if it is unknown. */
    long sizeInKb(int gpu) {
        Optional<String> id = cuda.cuda().flatMap(driver -> pciBusId(driver, gpu));
        Optional<Nvml> library = nvml.get().nvml();
        if (id.isEmpty() || library.isEmpty()) {
            return 0;
        }
        try {
            return library.get().byPciBusId(id.get()).bar1().map(Bar1::total).orElse(0L) / KIB;
        } catch (CuFileException e) {
            return 0;
        }
    }

    private static Optional<String> pciBusId(Cuda driver, int gpu) {
        int[] device = new int[1];
        String[] id = new String[1];
        boolean known = driver.deviceGet(device, gpu) == Cuda.SUCCESS
                && driver.deviceGetPciBusId(id, device[0]) == Cuda.SUCCESS;
        return known ? Optional.of(id[0]) : Optional.empty();
    }
}
