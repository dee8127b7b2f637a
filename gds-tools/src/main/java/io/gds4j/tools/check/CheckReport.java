package io.gds4j.tools.check;

import io.gds4j.config.CuFileConfig;
import io.gds4j.diagnosis.Diagnosis;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.Platform;
import io.gds4j.ffi.cuda.CudaAvailability;
import java.util.List;

/**
 * All findings of {@code gds check}.
 *
 * @param diagnosis what the API tells of machine, backends, configuration and paths
 * @param modules NVIDIA's kernel modules
 * @param cuda the CUDA driver, or why there is none
 * @param library libcufile
 * @param storage how storage reaches GPUs
 * @param paths one report for each path argument
 */
record CheckReport(
        Diagnosis diagnosis,
        KernelModules modules,
        CudaAvailability cuda,
        LibCuFile library,
        Storage storage,
        List<CheckedPath> paths) {
    CheckReport {
        paths = List.copyOf(paths);
    }

    Platform platform() {
        return diagnosis.platform();
    }

    List<Gpu> gpus() {
        return diagnosis.gpus();
    }

    CuFileConfig config() {
        return diagnosis.config().orElseThrow();
    }

    /** Formats CUDA's version number, such as 13000, as people write it. */
    static String version(int cuda) {
        return cuda / 1000 + "." + cuda % 1000 / 10;
    }
}
