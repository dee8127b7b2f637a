package io.gds4j.loader.save;

import io.gds4j.statistics.IoPath;
import java.util.Map;

/**
 * The result of a save.
 *
 * @param files number of files with tensors
 * @param tensors number of tensors
 * @param bytes bytes of these tensors, without headers
 * @param alignedTensors tensors that begin at a multiple of 4096 in their file, or of {@link SaveOptions#align} if that is larger
 * @param seconds duration from the call until the checkpoint was durable under its name
 * @param blockedSeconds the part of it during which the tensors must not change: until all bytes were written, or until the
 *        snapshot was complete
 * @param syncSeconds the part of it in which files and folders were forced to the disk and renamed
 * @param ioPaths bytes by I/O path; includes other I/O on the same driver during the save
 * @since 0.1
 */
public record SaveReport(
        int files,
        int tensors,
        long bytes,
        int alignedTensors,
        double seconds,
        double blockedSeconds,
        double syncSeconds,
        Map<IoPath, Long> ioPaths) {
    public SaveReport {
        ioPaths = Map.copyOf(ioPaths);
    }

    /** Returns bytes per second, based on {@link #seconds}. */
    public double bytesPerSecond() {
        return seconds > 0 ? bytes / seconds : 0;
    }
}
