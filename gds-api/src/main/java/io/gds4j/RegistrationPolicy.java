package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;

/**
 * Which memory is registered with the backend.
 *
 * <pre>{@code
 * driver.setRegistrationPolicy(RegistrationPolicy.CACHED.withBudget(8L << 30));
 * }</pre>
 *
 * @param mode who registers
 * @param budgetBytes GPU memory that a cache keeps registered at most, besides {@code max_device_pinned_mem_size_kb} and the
 *        BAR1 aperture of each GPU; 0 or more
 * @param pageBytes size of the pages that registering maps, by which the cache counts: 64 KiB on discrete GPUs, 4 KiB on
 *        Tegra; a power of two
 *
 * @since 0.1
 */
public record RegistrationPolicy(Mode mode, long budgetBytes, long pageBytes) {

    private static final long GPU_PAGE = 64 << 10;

    /** Nothing: {@link CuFileDriver#registerBuffer} gives rights and windows alone. */
    public static final RegistrationPolicy NONE = new RegistrationPolicy(Mode.NONE, 0, GPU_PAGE);
    /** What the program registers, and nothing else; the default. */
    public static final RegistrationPolicy EXPLICIT = new RegistrationPolicy(Mode.EXPLICIT, 0, GPU_PAGE);
    /**
     * What the program registers, and allocations of GPU memory that reads, writes and entries of batches come to: those stay
     * registered as they may. Stream-ordered transfers go unregistered: when they end is the stream's affair.
     */
    public static final RegistrationPolicy CACHED = new RegistrationPolicy(Mode.CACHED, Long.MAX_VALUE, GPU_PAGE);

    /** Who registers. */
    public enum Mode {
        /** Nobody. */
        NONE,
        /** The program. */
        EXPLICIT,
        /** The program, and a cache for what it does not. */
        CACHED
    }

    /** Refuses numbers that mean nothing. */
    public RegistrationPolicy {
        if (budgetBytes < 0) {
            throw invalid("the budget is negative: " + budgetBytes);
        }
        if (pageBytes < 1 || Long.bitCount(pageBytes) != 1) {
            throw invalid("the page size is not a power of two: " + pageBytes);
        }
    }

    private static CuFileException invalid(String detail) {
        return Failures.invalid("RegistrationPolicy", detail);
    }

    /**
     * The same with another budget.
     *
     * @param bytes 0 or more
     * @return the policy
     * @throws CuFileException {@link CuFileError#INVALID_VALUE} for a negative one
     */
    public RegistrationPolicy withBudget(long bytes) {
        return new RegistrationPolicy(mode, bytes, pageBytes);
    }

    /**
     * The same for pages of another size.
     *
     * @param bytes a power of two
     * @return the policy
     * @throws CuFileException {@link CuFileError#INVALID_VALUE} for what is none
     */
    public RegistrationPolicy withPages(long bytes) {
        return new RegistrationPolicy(mode, budgetBytes, bytes);
    }
}
