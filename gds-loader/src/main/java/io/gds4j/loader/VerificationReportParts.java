package io.gds4j.loader;

import java.util.List;

/** The parts of a {@link VerificationReport}. */
record VerificationReportParts(int tensors, long bytes, double seconds,
        List<TensorMismatch> mismatches) implements VerificationReport {
    VerificationReportParts {
        mismatches = List.copyOf(mismatches);
    }

    @Override
    public String toString() {
        return "VerificationReport[tensors=" + tensors + ", bytes=" + bytes + ", seconds=" + seconds
                + ", mismatches="
                + mismatches.size() + ']';
    }
}
