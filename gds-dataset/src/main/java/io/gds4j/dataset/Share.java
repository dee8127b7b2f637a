package io.gds4j.dataset;

import io.gds4j.error.CuFileException;

/**
 * Which part of every epoch this process reads: part {@code rank} of {@code world} consecutive parts of the epoch's order.
 * Known elsewhere as DistributedSampler (PyTorch).
 *
 * @param rank number of this process, 0 to {@code world - 1}
 * @param world number of processes, 1 or more
 * @since 0.1
 */
public record Share(int rank, int world) {
    /** All records. */
    public static final Share WHOLE = new Share(0, 1);

    /**
     * Checks the numbers.
     *
     * @throws CuFileException INVALID_VALUE (EINVAL) for a number out of range
     */
    public Share {
        if (world < 1 || rank < 0 || rank >= world) {
            throw Failures.invalid("rank is %s of %s, allowed: 0 to %s of 1 or more".formatted(
                    rank, world, Math.max(0, world - 1)));
        }
    }
}
