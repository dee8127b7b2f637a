package io.gds4j.loader;

/**
 * How tensors reach aligned addresses.
 *
 * @param alignment bytes to whose multiples every tensor's address is placed
 * @param tensors tensors in the plan
 * @param alignedInFile those whose bytes begin at a multiple of it in their file
 * @param read those that are read straight to their place
 * @param gathered those that are read together with others into host memory and copied from there, because their residues
 *        differ and they are small
 * @param gatheredBytes bytes of these
 * @since 0.1
 */
public record AlignmentReport(
        long alignment, int tensors, int alignedInFile, int read, int gathered, long gatheredBytes) {
}
