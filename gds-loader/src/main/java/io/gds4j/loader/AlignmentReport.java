package io.gds4j.loader;

/**
 * Describes how tensors reach aligned addresses.
 *
 * @since 0.1
 */
public final class AlignmentReport {
    private final long alignment;
    private final int tensors;
    private final int alignedInFile;
    private final int read;
    private final int gathered;
    private final long gatheredBytes;

    AlignmentReport(
            long alignment,
            int tensors,
            int alignedInFile,
            int read,
            int gathered,
            long gatheredBytes) {
        this.alignment = alignment;
        this.tensors = tensors;
        this.alignedInFile = alignedInFile;
        this.read = read;
        this.gathered = gathered;
        this.gatheredBytes = gatheredBytes;
    }

    /** {@return alignment of every tensor's address, in bytes} */
    public long alignment() {
        return alignment;
    }

    /** {@return number of tensors in the plan} */
    public int tensors() {
        return tensors;
    }

    /** {@return number of tensors that begin at a multiple of the alignment in their file} */
    public int alignedInFile() {
        return alignedInFile;
    }

    /** {@return number of tensors that are read straight to their place} */
    public int read() {
        return read;
    }

    /**
     * {@return number of small tensors that are read into host memory together and copied from there, because their offsets do not
     * agree modulo the alignment}
     */
    public int gathered() {
        return gathered;
    }

    /** {@return bytes of the gathered tensors} */
    public long gatheredBytes() {
        return gatheredBytes;
    }

    @Override
    public String toString() {
        return "AlignmentReport[alignment=" + alignment + ", tensors=" + tensors + ", alignedInFile=" + alignedInFile
                + ", read=" + read + ", gathered=" + gathered + ", gatheredBytes=" + gatheredBytes + ']';
    }
}
