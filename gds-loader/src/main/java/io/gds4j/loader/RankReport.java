package io.gds4j.loader;

/**
 * What a load brought to one rank.
 *
 * @since 0.1
 */
public sealed interface RankReport permits RankReportParts {
    /** {@return the rank} */
    int rank();

    /** {@return number of tensors of which the rank keeps a slice} */
    int tensors();

    /** {@return bytes of these slices} */
    long bytes();
}
