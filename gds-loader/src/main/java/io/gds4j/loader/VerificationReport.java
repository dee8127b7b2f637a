package io.gds4j.loader;

import java.util.List;

/**
 * What a verification found.
 *
 * @param tensors tensors compared
 * @param bytes bytes compared
 * @param seconds time it took
 * @param mismatches one entry, the first difference, for each tensor that differs, in the tensors' order
 * @since 0.1
 */
public record VerificationReport(int tensors, long bytes, double seconds, List<TensorMismatch> mismatches) {
    public VerificationReport {
        mismatches = List.copyOf(mismatches);
    }

    /** True if nothing differs. */
    public boolean verified() {
        return mismatches.isEmpty();
    }
}
