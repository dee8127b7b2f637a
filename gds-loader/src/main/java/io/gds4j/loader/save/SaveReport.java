package io.gds4j.loader.save;

import io.gds4j.statistics.IoPath;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * The result of a save. Its text is one line: {@code 291 tensors, 17.18 GB in 4.200 s, 4.09 GB/s by COMPAT_DIRECT}.
 *
 * @since 0.1
 */
public sealed interface SaveReport permits SaveReportParts {
    /** {@return number of files with tensors} */
    int files();

    /** {@return number of tensors} */
    int tensors();

    /** {@return bytes of these tensors, without headers} */
    long bytes();

    /** {@return tensors that begin at a multiple of 4096 in their file, or of {@link SaveOptions#align} if that is larger} */
    int alignedTensors();

    /** {@return duration from the call until the checkpoint was durable under its name} */
    double seconds();

    /** {@return {@link #seconds} as a duration} */
    default Duration duration() {
        return Duration.ofNanos(Math.round(seconds() * 1e9));
    }

    /**
     * {@return the part of {@link #seconds} during which the tensors must not change: until all bytes were written, or until the
     * snapshot was complete}
     */
    double blockedSeconds();

    /** {@return the part of {@link #seconds} in which files and folders were forced to the disk and renamed} */
    double syncSeconds();

    /**
     * Returns the bytes of each I/O path. Bytes that were moved twice, such as after a failure of a path, count twice.
     *
     * @return the paths that served any
     */
    Map<IoPath, Long> ioPaths();

    /** {@return bytes that the requests asked the driver for: tensors and headers, and what was read of other files} */
    long bytesAsked();

    /** {@return why bytes did not go by GPUDirect Storage, a clause for users; empty if all did, or if none were moved} */
    Optional<String> whyNotDirect();

    /** Returns bytes per second, based on {@link #seconds}. */
    default double bytesPerSecond() {
        return seconds() > 0 ? bytes() / seconds() : 0;
    }
}
