package io.gds4j.loader.save;

import io.gds4j.statistics.IoPath;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The result of a verification by checksums.
 *
 * @since 0.1
 */
public sealed interface ChecksumReport permits ChecksumReportParts {
    /** {@return number of tensors that were read and compared} */
    int tensors();

    /** {@return bytes of these tensors} */
    long bytes();

    /** {@return duration} */
    double seconds();

    /** {@return {@link #seconds} as a duration} */
    default Duration duration() {
        return Duration.ofNanos(Math.round(seconds() * 1e9));
    }

    /** {@return names of the tensors whose bytes have another checksum} */
    List<String> different();

    /** {@return names of the tensors with bytes whose file has no checksums} */
    List<String> unchecked();

    /** {@return bytes by I/O path: COMPAT_CACHED bytes did not come from the disk} */
    Map<IoPath, Long> ioPaths();

    /** Returns true if all tensors with bytes were compared and are equal. */
    default boolean verified() {
        return different().isEmpty() && unchecked().isEmpty();
    }
}
