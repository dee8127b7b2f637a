package io.gds4j.memory;

/**
 * GPU memory that grows in place: it reserves all addresses first and maps physical memory when it grows
 * ({@code cuMemAddressReserve}, {@code cuMemCreate}, {@code cuMemMap}). Its content keeps its address.
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
 * Thread-safe. {@link #grow} ends the previous {@link #allocation} and its ranges; take new ranges from the next allocation. A
 * registration must be closed before and made again after. The garbage collector logs and frees forgotten memory, and names
 * the place that made it; its ranges keep it reachable.
 *
 * @since 0.1
 */
public interface GrowableMemory extends AutoCloseable {
    /** {@return the whole memory at its current size} */
    MemoryAllocation allocation();

    /** {@return largest size, in bytes} */
    long maximum();

    /**
     * Waits for I/O that uses the memory, then makes it larger at the same address.
     *
     * @param bytes new size at least: more than now, at most {@link #maximum}
     * @return the whole memory at its new size
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for other sizes, NOMEM_ERROR when the GPU has too little memory,
     *         IO_NOT_SUPPORTED (EBUSY) while it is registered or an entry of a batch uses it: nothing has changed then
     */
    MemoryAllocation grow(long bytes);

    /**
     * Waits for I/O that uses the memory, then frees memory and addresses. Idempotent.
     *
     * @throws io.gds4j.error.CuFileException as {@link MemoryAllocation#close}
     */
    @Override
    void close();
}
