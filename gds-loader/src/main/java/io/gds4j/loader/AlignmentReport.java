package io.gds4j.loader;

/**
 * Describes how tensors reach aligned addresses.
 *
 * @since 0.1
 */
public final class AlignmentReport {
    private final Parts parts;

    AlignmentReport(Parts parts) {
        this.parts = parts;
    }

    /** {@return alignment of every tensor's address, in bytes} */
    public long alignment() {
        return parts.alignment;
    }

    /** {@return number of tensors in the plan} */
    public int tensors() {
        return parts.tensors;
    }

    /** {@return number of tensors that begin at a multiple of the alignment in their file} */
    public int alignedInFile() {
        return parts.alignedInFile;
    }

    /** {@return number of tensors that are read straight to their place} */
    public int read() {
        return parts.read;
    }

    /**
     * {@return number of small tensors that are read into host memory together and copied from there, because their offsets do not
     * agree modulo the alignment}
     */
    public int gathered() {
        return parts.gathered;
    }

    /** {@return bytes of the gathered tensors} */
    public long gatheredBytes() {
        return parts.gatheredBytes;
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "AlignmentReport");
    }

    record Parts(long alignment, int tensors, int alignedInFile, int read, int gathered, long gatheredBytes) {}
}
