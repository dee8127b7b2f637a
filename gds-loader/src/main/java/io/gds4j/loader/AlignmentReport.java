package io.gds4j.loader;

/**
 * Describes how tensors reach aligned addresses.
 *
 * @param alignment alignment of every tensor's address, in bytes
 * @param tensors number of tensors in the plan
 * @param alignedInFile number of tensors that begin at a multiple of the alignment in their file
 * @param read number of tensors that are read straight to their place
 * @param gathered number of small tensors that are read into host memory together and copied from there, because their
 *        offsets do not agree modulo the alignment
 * @param gatheredBytes bytes of the gathered tensors
 * @since 0.1
 */
public record AlignmentReport(
        long alignment, int tensors, int alignedInFile, int read, int gathered, long gatheredBytes) {
}
