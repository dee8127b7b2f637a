package io.gds4j.loader.save;

import io.gds4j.statistics.IoPath;
import java.util.Map;
import java.util.Optional;

/**
 * The result of a save.
 *
 * @since 0.1
 */
public final class SaveReport {
    private final Parts parts;

    SaveReport(Parts parts) {
        this.parts = parts;
    }

    /** {@return number of files with tensors} */
    public int files() {
        return parts.files;
    }

    /** {@return number of tensors} */
    public int tensors() {
        return parts.tensors;
    }

    /** {@return bytes of these tensors, without headers} */
    public long bytes() {
        return parts.bytes;
    }

    /** {@return tensors that begin at a multiple of 4096 in their file, or of {@link SaveOptions#align} if that is larger} */
    public int alignedTensors() {
        return parts.alignedTensors;
    }

    /** {@return duration from the call until the checkpoint was durable under its name} */
    public double seconds() {
        return parts.seconds;
    }

    /**
     * {@return the part of {@link #seconds} during which the tensors must not change: until all bytes were written, or until the
     * snapshot was complete}
     */
    public double blockedSeconds() {
        return parts.blockedSeconds;
    }

    /** {@return the part of {@link #seconds} in which files and folders were forced to the disk and renamed} */
    public double syncSeconds() {
        return parts.syncSeconds;
    }

    /**
     * Returns the bytes of each I/O path. Bytes that were moved twice, such as after a failure of a path, count twice.
     *
     * @return the paths that served any
     */
    public Map<IoPath, Long> ioPaths() {
        return parts.ioPaths;
    }

    /** {@return bytes that the requests asked the driver for: tensors and headers, and what was read of other files} */
    public long bytesAsked() {
        return parts.bytesAsked;
    }

    /** {@return why bytes did not go by GPUDirect Storage, a clause for users; empty if all did, or if none were moved} */
    public Optional<String> whyNotDirect() {
        return parts.whyNotDirect;
    }

    /** Returns bytes per second, based on {@link #seconds}. */
    public double bytesPerSecond() {
        return parts.seconds > 0 ? parts.bytes / parts.seconds : 0;
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "SaveReport");
    }

    record Parts(int files, int tensors, long bytes, int alignedTensors, double seconds, double blockedSeconds,
            double syncSeconds, Map<IoPath, Long> ioPaths, long bytesAsked, Optional<String> whyNotDirect) {
        Parts {
            ioPaths = Map.copyOf(ioPaths);
        }
    }
}
