package io.gds4j.loader;

import io.gds4j.statistics.IoPath;
import java.util.Map;

/**
 * The result of a load.
 *
 * @param files number of files that were read
 * @param tensors number of tensors that were loaded
 * @param bytes bytes of these tensors
 * @param requests number of reads by the driver
 * @param seconds duration from the first header byte to the last tensor in place: {@link Checkpoint#open} plus the load,
 *        including opening files and allocating memory, without the time in between
 * @param headerSeconds the part of it for {@link Checkpoint#open}
 * @param memorySeconds the part of it for allocating destination memory
 * @param ioPaths bytes by I/O path; includes other I/O on the same driver during the load
 * @param peakStagingBytes peak of the host memory for staging, of driver and loader together
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

    /** Returns bytes per second, based on {@link #seconds}. */
    public double bytesPerSecond() {
        return seconds > 0 ? bytes / seconds : 0;
    }
}
