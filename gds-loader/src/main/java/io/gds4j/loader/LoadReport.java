package io.gds4j.loader;

import io.gds4j.statistics.IoPath;
import java.util.Map;
import java.util.Optional;

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

    /**
     * Returns the bytes of each I/O path. Bytes that were moved twice, such as after a failure of a path, count twice.
     *
     * @return the paths that served any
     */
    public Map<IoPath, Long> ioPaths() {
        return parts.ioPaths;
    }

    /** {@return bytes that the requests asked the driver for; with gaps between tensors that are read along, more than {@link #bytes}} */
    public long bytesAsked() {
        return parts.bytesAsked;
    }

    /** {@return why bytes did not go by GPUDirect Storage, a clause for users; empty if all did, or if none were moved} */
    public Optional<String> whyNotDirect() {
        return parts.whyNotDirect;
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
            double memorySeconds, Map<IoPath, Long> ioPaths, long bytesAsked, Optional<String> whyNotDirect,
            long peakStagingBytes) {
        Parts {
            ioPaths = Map.copyOf(ioPaths);
        }
    }
}
