package io.gds4j.internal.lifetime;

import java.lang.foreign.MemorySegment;

/**
 * Copies and fills memory, for allocations that do so themselves. The methods are those of an allocator.
 *
 * @param <R> a range of memory
 */
public interface MemoryCopies<R> {
    /** Copies {@code to.byteSize()} bytes from the start of a range to the host. */
    void copyToHost(R from, MemorySegment to);

    /** Copies {@code from.byteSize()} bytes of the host to the start of a range. */
    void copyFromHost(MemorySegment from, R to);

    /** Sets every byte of a range. */
    void fill(R range, byte value);
}
