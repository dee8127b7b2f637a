package io.gds4j.spi;

import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.diagnosis.Platform;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What a backend can find out about this machine, for {@code CuFileDriver.diagnose}. Opens no driver and creates no CUDA
 * context. Thread-safe.
 *
 * @since 0.1
 */
public interface Machine {
    /** Opens a file in the driver that diagnoses, and closes it again. */
    @FunctionalInterface
    interface Probe {
        /**
         * Returns what serves a file.
         *
         * @param file the file
         * @param direct whether to open it with O_DIRECT
         * @return path and reason
         */
        IoPathReport ioPath(Path file, boolean direct);
    }

    /** {@return platform and memory} */
    Platform platform();

    /** {@return GPUs that this process sees} */
    List<Gpu> gpus();

    /** {@return why there is no GPU, with a remedy; empty if there are GPUs} */
    Optional<String> noGpu();

    /**
     * Examines a file, folder or block device without changing it.
     *
     * @param path the path
     * @param probe tells what serves a file
     * @return the report, with a failure instead of an exception
     */
    PathReport examine(Path path, Probe probe);
}
