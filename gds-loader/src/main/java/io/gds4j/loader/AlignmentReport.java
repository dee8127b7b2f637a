package io.gds4j.loader;

/**
 * Describes how tensors reach aligned addresses.
 *
 * @since 0.1
 */
public sealed interface AlignmentReport permits AlignmentReportParts {
    /** {@return alignment of every tensor's address, in bytes} */
    long alignment();

    /** {@return number of tensors in the plan} */
    int tensors();

    /** {@return number of tensors that begin at a multiple of the alignment in their file} */
    int alignedInFile();

    /** {@return number of tensors that are read straight to their place} */
    int read();

    /**
     * {@return number of small tensors that are read into host memory together and copied from there, because their offsets do not
     * agree modulo the alignment}
     */
    int gathered();

    /** {@return bytes of the gathered tensors} */
    long gatheredBytes();
}
