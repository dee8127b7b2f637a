package io.gds4j.loader;

import java.util.List;

/**
 * The result of a verification. It has no bytes by I/O path: the comparison reads the files by plain reads of the kernel, not by a
 * driver.
 *
 * @since 0.1
 */
public final class VerificationReport {
    private final int tensors;
    private final long bytes;
    private final double seconds;
    private final List<TensorMismatch> mismatches;

    /**
     * Sets the parts.
     *
     * @param tensors as {@link #tensors}
     * @param bytes as {@link #bytes}
     * @param seconds as {@link #seconds}
     * @param mismatches as {@link #mismatches}
     */
    public VerificationReport(int tensors, long bytes, double seconds, List<TensorMismatch> mismatches) {
        this.tensors = tensors;
        this.bytes = bytes;
        this.seconds = seconds;
        this.mismatches = List.copyOf(mismatches);
    }

    /** {@return number of tensors compared} */
    public int tensors() {
        return tensors;
    }

    /** {@return bytes compared} */
    public long bytes() {
        return bytes;
    }

    /** {@return duration in seconds} */
    public double seconds() {
        return seconds;
    }

    /** {@return the first difference of each tensor that differs, in the order of the tensors} */
    public List<TensorMismatch> mismatches() {
        return mismatches;
    }

    /** Returns true if nothing differs. */
    public boolean verified() {
        return mismatches.isEmpty();
    }

    @Override
    public String toString() {
        return "VerificationReport[tensors=" + tensors + ", bytes=" + bytes + ", seconds=" + seconds + ", mismatches="
                + mismatches.size() + ']';
    }
}
