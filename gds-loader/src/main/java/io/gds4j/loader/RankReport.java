package io.gds4j.loader;

/**
 * What a load brought to one rank.
 *
 * @param rank the rank
 * @param tensors number of tensors of which the rank keeps a slice
 * @param bytes bytes of these slices
 * @since 0.1
 */
public record RankReport(int rank, int tensors, long bytes) {
}
