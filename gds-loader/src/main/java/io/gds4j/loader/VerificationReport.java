package io.gds4j.loader;

import java.time.Duration;
import java.util.List;

/**
 * The result of a verification. It has no bytes by I/O path: the comparison reads the files by plain reads of the kernel, not by a
 * driver.
 *
 * @since 0.1
 */
public sealed interface VerificationReport permits VerificationReportParts {
    /** {@return number of tensors compared} */
    int tensors();

    /** {@return bytes compared} */
    long bytes();

    /** {@return duration in seconds} */
    double seconds();

    /** {@return {@link #seconds} as a duration} */
    default Duration duration() {
        return Duration.ofNanos(Math.round(seconds() * 1e9));
    }

    /** {@return the first difference of each tensor that differs, in the order of the tensors} */
    List<TensorMismatch> mismatches();

    /**
     * Makes a value.
     *
     * @param tensors as {@link #tensors}
     * @param bytes as {@link #bytes}
     * @param seconds as {@link #seconds}
     * @param mismatches as {@link #mismatches}
     * @return the value
     */
    static VerificationReport of(int tensors, long bytes, double seconds, List<TensorMismatch> mismatches) {
        return new VerificationReportParts(tensors, bytes, seconds, mismatches);
    }

    /** Returns true if nothing differs. */
    default boolean verified() {
        return mismatches().isEmpty();
    }
}
