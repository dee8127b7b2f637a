package io.gds4j.loader;

import io.gds4j.error.CuFileException;

/**
 * How much memory a load may take whose tensors come in turn: that of the tensors, that in which the loader gathers small ones, and the
 * driver's bounce buffers, for which up to a quarter is set aside. A driver whose {@code posix_pool_slab_*} allow more may take more: they
 * limit its pool, which all its requests share. Immutable.
 *
 * <pre>{@code
 * Budget budget = Budget.bytes(2L << 30);
 * }</pre>
 *
 * @param bytes the number of bytes
 * @since 0.1
 */
public record Budget(long bytes) {
    /**
     * Checks the number.
     *
     * @throws CuFileException INVALID_VALUE for less than 1
     */
    public Budget {
        if (bytes < 1) {
            throw CuFileException.invalid("Budget", "a budget has 1 byte or more, not " + bytes);
        }
    }

    /**
     * Returns a budget.
     *
     * @param bytes 1 or more
     * @throws CuFileException INVALID_VALUE for less
     */
    public static Budget bytes(long bytes) {
        return new Budget(bytes);
    }

    @Override
    public String toString() {
        return "Budget[%s bytes]".formatted(bytes);
    }
}
