package io.gds4j.loader;

import io.gds4j.statistics.IoPath;
import java.util.Map;

/**
 * The result of a load.
 *
 * @since 0.1
 */
public final class LoadReport {
    private final int files;
    private final int tensors;
    private final long bytes;
    private final int requests;
    private final double seconds;
    private final double headerSeconds;
    private final double memorySeconds;
    private final Map<IoPath, Long> ioPaths;
    private final long peakStagingBytes;

    LoadReport(
            int files,
            int tensors,
            long bytes,
            int requests,
            double seconds,
            double headerSeconds,
            double memorySeconds,
            Map<IoPath, Long> ioPaths,
            long peakStagingBytes) {
        this.files = files;
        this.tensors = tensors;
        this.bytes = bytes;
        this.requests = requests;
        this.seconds = seconds;
        this.headerSeconds = headerSeconds;
        this.memorySeconds = memorySeconds;
        this.ioPaths = Map.copyOf(ioPaths);
        this.peakStagingBytes = peakStagingBytes;
    }

    /** {@return number of files that were read} */
    public int files() {
        return files;
    }

    /** {@return number of tensors that were loaded} */
    public int tensors() {
        return tensors;
    }

    /** {@return bytes of these tensors} */
    public long bytes() {
        return bytes;
    }

    /** {@return number of reads by the driver} */
    public int requests() {
        return requests;
    }

    /**
     * {@return duration from the first header byte to the last tensor in place: {@link Checkpoint#open} plus the load, including
     * opening files and allocating memory, without the time in between}
     */
    public double seconds() {
        return seconds;
    }

    /** {@return the part of {@link #seconds} for {@link Checkpoint#open}} */
    public double headerSeconds() {
        return headerSeconds;
    }

    /** {@return the part of {@link #seconds} for allocating destination memory} */
    public double memorySeconds() {
        return memorySeconds;
    }

    /** {@return bytes by I/O path; includes other I/O on the same driver during the load} */
    public Map<IoPath, Long> ioPaths() {
        return ioPaths;
    }

    /** {@return peak of the host memory for staging, of driver and loader together} */
    public long peakStagingBytes() {
        return peakStagingBytes;
    }

    /** Returns bytes per second, based on {@link #seconds}. */
    public double bytesPerSecond() {
        return seconds > 0 ? bytes / seconds : 0;
    }

    @Override
    public String toString() {
        return "LoadReport[files=" + files + ", tensors=" + tensors + ", bytes=" + bytes + ", requests=" + requests
                + ", seconds=" + seconds + ", headerSeconds=" + headerSeconds + ", memorySeconds=" + memorySeconds
                + ", ioPaths=" + ioPaths + ", peakStagingBytes=" + peakStagingBytes + ']';
    }
}
