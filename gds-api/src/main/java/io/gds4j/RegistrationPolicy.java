package io.gds4j;

import io.gds4j.error.CuFileException;
import java.util.Objects;

/**
 * Decides which memory is registered with the backend; see {@link CuFileDriver#setRegistrationPolicy}. Immutable.
 *
 * <pre>{@code
 * driver.setRegistrationPolicy(RegistrationPolicy.CACHED.withBudget(8L << 30));
 * }</pre>
 *
 * @param mode who registers
 * @param budgetBytes limit of a cache, bytes of GPU memory, 0 or more; {@code max_device_pinned_mem_size_kb} and each GPU's BAR1 aperture
 *        limit it, too
 * @param pageBytes size of the GPU pages that a registration pins, bytes, a power of two: 64 KiB on discrete GPUs, 4 KiB on Tegra
 * @since 0.1
 */
public record RegistrationPolicy(Mode mode, long budgetBytes, long pageBytes) {

    /** Page size of discrete GPUs, in bytes. */
    private static final long GPU_PAGE = 64 << 10;

    /** Registers nothing; {@link CuFileDriver#registerBuffer(io.gds4j.memory.MemoryRange)} only grants rights and windows. */
    public static final RegistrationPolicy NONE = new RegistrationPolicy(Mode.NONE, 0, GPU_PAGE);
    /** Registers the program's buffers only; the default. */
    public static final RegistrationPolicy EXPLICIT = new RegistrationPolicy(Mode.EXPLICIT, 0, GPU_PAGE);
    /**
     * Registers the program's buffers, and caches registrations of GPU allocations that reads, writes and batch entries use.
     * Stream operations do not use the cache, because only the stream knows when they end.
     */
    public static final RegistrationPolicy CACHED = new RegistrationPolicy(Mode.CACHED, Long.MAX_VALUE, GPU_PAGE);

    /**
     * Checks the numbers.
     *
     * @throws CuFileException INVALID_VALUE (EINVAL) for a negative budget or a page size that is not a power of two
     */
    public RegistrationPolicy {
        Objects.requireNonNull(mode, "mode");
        if (budgetBytes < 0) {
            throw invalid("the budget is negative: " + budgetBytes);
        }
        if (pageBytes < 1 || Long.bitCount(pageBytes) != 1) {
            throw invalid("the page size is not a power of two: " + pageBytes);
        }
    }

    /** Says who registers memory. */
    public enum Mode {
        /** No one. */
        NONE,
        /** The program. */
        EXPLICIT,
        /** The program, and a cache for other memory. */
        CACHED
    }

    private static CuFileException invalid(String detail) {
        return Failures.invalid("RegistrationPolicy", detail);
    }

    /**
     * Returns this policy with another budget.
     *
     * @param bytes bytes of GPU memory, 0 or more
     * @return the policy
     * @throws CuFileException INVALID_VALUE (EINVAL) for a negative budget
     */
    public RegistrationPolicy withBudget(long bytes) {
        return new RegistrationPolicy(mode, bytes, pageBytes);
    }

    /**
     * Returns this policy with another page size.
     *
     * @param bytes bytes, a power of two
     * @return the policy
     * @throws CuFileException INVALID_VALUE (EINVAL) if it is not a power of two
     */
    public RegistrationPolicy withPages(long bytes) {
        return new RegistrationPolicy(mode, budgetBytes, bytes);
    }
}
