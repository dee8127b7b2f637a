package io.gds4j.loader;

import java.util.List;

/**
 * The result of a verification. It has no bytes by I/O path: the comparison reads the files by plain reads of the kernel, not by a
 * driver.
 *
 * @since 0.1
 */
public final class VerificationReport {
    private final Parts parts;

    /**
     * Sets the parts.
     *
     * @param tensors as {@link #tensors}
     * @param bytes as {@link #bytes}
     * @param seconds as {@link #seconds}
     * @param mismatches as {@link #mismatches}
     */
    public VerificationReport(int tensors, long bytes, double seconds, List<TensorMismatch> mismatches) {
        parts = new Parts(tensors, bytes, seconds, List.copyOf(mismatches));
    }

    /** {@return number of tensors compared} */
    public int tensors() {
        return parts.tensors;
    }

    /** {@return bytes compared} */
    public long bytes() {
        return parts.bytes;
    }

    /** {@return duration in seconds} */
    public double seconds() {
        return parts.seconds;
    }

    /** {@return the first difference of each tensor that differs, in the order of the tensors} */
    public List<TensorMismatch> mismatches() {
        return parts.mismatches;
    }

    /** Returns true if nothing differs. */
    public boolean verified() {
        return parts.mismatches.isEmpty();
    }

    @Override
    public String toString() {
        return "VerificationReport[tensors=" + parts.tensors + ", bytes=" + parts.bytes + ", seconds=" + parts.seconds
                + ", mismatches="
                + parts.mismatches.size() + ']';
    }

    private record Parts(int tensors, long bytes, double seconds, List<TensorMismatch> mismatches) {}
}
