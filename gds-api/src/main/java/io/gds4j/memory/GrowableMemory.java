package io.gds4j.memory;

/**
 * GPU memory that grows in place: addresses are reserved at once, physical memory comes as it is asked for
 * ({@code cuMemAddressReserve}, {@code cuMemCreate}, {@code cuMemMap}). What it held stays where it was.
 *
 * <pre>{@code
 * try (GrowableMemory memory = driver.allocator().growable(1L << 40, 0)) {
 *     memory.grow(1 << 30);
 *     handle.read(memory.allocation().range(), 0);
 *     memory.grow(4L << 30);                             // same address, larger
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe. Growing ends the {@link #allocation} before: holders of a range of it take a new one from the next. A
 * registration must be closed before and made again after, since it is of the memory that was there. Forgotten, it is logged
 * with the place that made it, and given back, when the garbage collector finds it; its ranges keep it.
 *
 * @since 0.1
 */
public interface GrowableMemory extends AutoCloseable {
    /** {@return all of it as it is now} */
    MemoryAllocation allocation();

    /** {@return bytes that it can grow to} */
    long maximum();

    /**
     * Makes it larger, at the same address, after the I/O that uses it.
     *
     * @param bytes it shall have at least: more than now, no more than {@link #maximum}
     * @return all of it
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for sizes outside, NOMEM_ERROR when the GPU has too little memory,
     *         IO_NOT_SUPPORTED (EBUSY) while it is registered or an entry of a batch uses it: nothing has changed then
     */
    MemoryAllocation grow(long bytes);

    /**
     * Waits for I/O that uses it, then gives memory and addresses back. Idempotent.
     *
     * @throws io.gds4j.error.CuFileException as {@link MemoryAllocation#close}
     */
    @Override
    void close();
}
