package io.gds4j.memory;

/**
 * Memory of a read or write: an allocation, a plain range, or a range that is registered with a driver.
 *
 * @since 0.1
 */
public sealed interface IoMemory permits MemoryAllocation, MemoryRange, RegisteredMemory {
    /** {@return the range of this memory} */
    MemoryRange range();
}
