package io.gds4j.memory;

/**
 * Memory of a read or write: an allocation, a plain range, or a range that is registered with a driver.
 *
 * @since 0.1
 */
public sealed interface IoMemory permits MemoryAllocation, MemoryRange, RegisteredMemory {
    /** {@return the range of this memory} */
    MemoryRange range();

    /** {@return number of bytes of {@link #range}} */
    default long size() {
        return range().length();
    }

    /** {@return address of the first byte of {@link #range}; not 0 for memory of a GPU} */
    default long address() {
        return range().address();
    }
}
