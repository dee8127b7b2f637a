package io.gds4j.tools.check;

import io.gds4j.config.CuFileConfig;
import io.gds4j.diagnosis.BackendReport;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.Platform;
import io.gds4j.ffi.cuda.CudaAvailability;
import java.util.List;

/**
 * All findings of {@code gds check}.
 *
 * @param platform machine and JDK
 * @param modules NVIDIA's kernel modules
 * @param cuda the CUDA driver, or why there is none
 * @param gpus GPUs that this process sees
 * @param library libcufile
 * @param backends backends on the class path, best first
 * @param config the effective configuration
 * @param storage how storage reaches GPUs
 * @param paths one report for each path argument
 */
record CheckReport(
        Platform platform,
        KernelModules modules,
        CudaAvailability cuda,
        List<Gpu> gpus,
        LibCuFile library,
        List<BackendReport> backends,
        CuFileConfig config,
        Storage storage,
        List<CheckedPath> paths) {
    CheckReport {
        gpus = List.copyOf(gpus);
        backends = List.copyOf(backends);
        paths = List.copyOf(paths);
    }

    /** Formats CUDA's version number, such as 13000, as people write it. */
    static String version(int cuda) {
        return cuda / 1000 + "." + cuda % 1000 / 10;
    }
}
