package io.gds4j.memory;

/**
 * What a read fills or a write takes: a plain range, or a range that is registered with a driver.
 *
 * @since 0.1
 */
public sealed interface IoMemory permits MemoryRange, RegisteredMemory {
    /** {@return the addresses behind this memory} */
    MemoryRange range();
}
