package io.gds4j.loader;

import io.gds4j.statistics.IoPath;
import java.util.Map;

/**
 * The result of a load.
 *
 * @since 0.1
 */
public final class LoadReport {
    private final Parts parts;

    LoadReport(Parts parts) {
        this.parts = parts;
    }

    /** {@return number of files that were read} */
    public int files() {
        return parts.files;
    }

    /** {@return number of tensors that were loaded} */
    public int tensors() {
        return parts.tensors;
    }

    /** {@return bytes of these tensors} */
    public long bytes() {
        return parts.bytes;
    }

    /** {@return number of reads by the driver} */
    public int requests() {
        return parts.requests;
    }

    /**
     * {@return duration from the first header byte to the last tensor in place: {@link Checkpoint#open} plus the load, including
     * opening files and allocating memory, without the time in between}
     */
    public double seconds() {
        return parts.seconds;
    }

    /** {@return the part of {@link #seconds} for {@link Checkpoint#open}} */
    public double headerSeconds() {
        return parts.headerSeconds;
    }

    /**
     * {@return the part of {@link #seconds} from the first to the last allocation of destination memory; bytes flow into the first block
     * while later ones are allocated}
     */
    public double memorySeconds() {
        return parts.memorySeconds;
    }

    /** {@return bytes by I/O path; includes other I/O on the same driver during the load} */
    public Map<IoPath, Long> ioPaths() {
        return parts.ioPaths;
    }

    /** {@return peak of the host memory for staging, of driver and loader together} */
    public long peakStagingBytes() {
        return parts.peakStagingBytes;
    }

    /** Returns bytes per second, based on {@link #seconds}. */
    public double bytesPerSecond() {
        return parts.seconds > 0 ? parts.bytes / parts.seconds : 0;
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "LoadReport");
    }

    record Parts(int files, int tensors, long bytes, int requests, double seconds, double headerSeconds,
            double memorySeconds, Map<IoPath, Long> ioPaths, long peakStagingBytes) {
        Parts {
            ioPaths = Map.copyOf(ioPaths);
        }
    }
}
