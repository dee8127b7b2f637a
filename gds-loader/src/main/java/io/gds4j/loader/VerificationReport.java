package io.gds4j.loader;

import java.util.List;

/**
 * The result of a verification. It has no bytes by I/O path: the comparison reads the files by plain reads of the kernel, not by a
 * driver.
 *
 * @param tensors number of tensors compared
 * @param bytes bytes compared
 * @param seconds duration in seconds
 * @param mismatches the first difference of each tensor that differs, in the order of the tensors
 * @since 0.1
 */
public record VerificationReport(int tensors, long bytes, double seconds, List<TensorMismatch> mismatches) {
    public VerificationReport {
        mismatches = List.copyOf(mismatches);
    }

    /** Returns true if nothing differs. */
    public boolean verified() {
        return mismatches.isEmpty();
    }
}
