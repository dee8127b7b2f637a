package io.gds4j.loader;

import io.gds4j.statistics.IoPath;
import java.util.Map;

/**
 * What a load did.
 *
 * @param files files that were read
 * @param tensors tensors that were loaded
 * @param bytes their bytes
 * @param requests reads asked of the driver
 * @param seconds from the first header byte to the last tensor in place: the time that {@link Checkpoint#open} took, plus
 *        the load with opening of files and allocation of memory. What the program did in between does not count
 * @param headerSeconds the part of it that {@link Checkpoint#open} took
 * @param memorySeconds the part of it that allocating destination memory took
 * @param ioPaths bytes by the path they took; counts other I/O on the same driver in that time too
 * @param peakStagingBytes most host memory for staging at one time, the driver's and the loader's
 * @since 0.1
 */
public record LoadReport(
        int files,
        int tensors,
        long bytes,
        int requests,
        double seconds,
        double headerSeconds,
        double memorySeconds,
        Map<IoPath, Long> ioPaths,
        long peakStagingBytes) {
    public LoadReport {
        ioPaths = Map.copyOf(ioPaths);
    }

    /** Bytes a second, of {@link #seconds}. */
    public double bytesPerSecond() {
        return seconds > 0 ? bytes / seconds : 0;
    }
}
