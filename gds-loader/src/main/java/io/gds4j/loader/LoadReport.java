package io.gds4j.loader;

import io.gds4j.statistics.IoPath;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * The result of a load. Its text is one line: {@code 291 tensors, 17.18 GB in 0.395 s, 43.50 GB/s into GPU 0 by COMPAT_CACHED}.
 *
 * @since 0.1
 */
public sealed interface LoadReport permits LoadReportParts {
    /** {@return number of files that were read} */
    int files();

    /** {@return number of tensors that were loaded} */
    int tensors();

    /** {@return bytes of these tensors} */
    long bytes();

    /** {@return number of reads by the driver} */
    int requests();

    /**
     * {@return duration from the first header byte to the last tensor in place: {@link Checkpoint#open} plus the load, including
     * opening files and allocating memory, without the time in between}
     */
    double seconds();

    /** {@return {@link #seconds} as a duration} */
    default Duration duration() {
        return Duration.ofNanos(Math.round(seconds() * 1e9));
    }

    /** {@return the part of {@link #seconds} for {@link Checkpoint#open}} */
    double headerSeconds();

    /**
     * {@return the part of {@link #seconds} from the first to the last allocation of destination memory; bytes flow into the first block
     * while later ones are allocated}
     */
    double memorySeconds();

    /**
     * Returns the bytes of each I/O path. Bytes that were moved twice, such as after a failure of a path, count twice.
     *
     * @return the paths that served any
     */
    Map<IoPath, Long> ioPaths();

    /** {@return bytes that the requests asked the driver for; with gaps between tensors that are read along, more than {@link #bytes}} */
    long bytesAsked();

    /** {@return why bytes did not go by GPUDirect Storage, a clause for users; empty if all did, or if none were moved} */
    Optional<String> whyNotDirect();

    /** {@return peak of the host memory for staging, of driver and loader together} */
    long peakStagingBytes();

    /** {@return where the tensors are, for users: {@code GPU 0}, {@code host memory}, or several of them} */
    String target();

    /** Returns bytes per second, based on {@link #seconds}. */
    default double bytesPerSecond() {
        return seconds() > 0 ? bytes() / seconds() : 0;
    }
}
