package io.gds4j.dataset;

/**
 * What happens to records that do not fill whole batches on all ranks.
 *
 * @since 0.1
 */
public enum Remainder {
    /** Each record comes once. The shares of ranks differ by at most one record; the last batch of an epoch may be short. */
    KEEP,

    /** Records at the end of the epoch's order are left out: all ranks get the same number of whole batches. Known elsewhere as drop_last. */
    DROP,

    /** Records at the begin of the epoch's order come once more: all ranks get the same number of whole batches. */
    PAD
}
