package io.gds4j.tools.check;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.CudaAvailability;
import java.util.List;

/**
 * All that {@code gds check} found out.
 *
 * @param platform machine and JDK
 * @param modules NVIDIA's kernel modules
 * @param cuda the CUDA driver, or why there is none
 * @param gpus GPUs of this process
 * @param library libcufile
 * @param backends those on the class path, best first
 * @param config the configuration that holds
 * @param storage what lies between storage and GPUs
 * @param paths one report for each path that was named
 */
record CheckReport(
        Platform platform,
        KernelModules modules,
        CudaAvailability cuda,
        List<Gpu> gpus,
        LibCuFile library,
        List<Backend> backends,
        CuFileConfig config,
        Storage storage,
        List<PathReport> paths) {
    CheckReport {
        gpus = List.copyOf(gpus);
        backends = List.copyOf(backends);
        paths = List.copyOf(paths);
    }

    /** CUDA's version as people write it. */
    static String version(int cuda) {
        return cuda / 1000 + "." + cuda % 1000 / 10;
    }
}
