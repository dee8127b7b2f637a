package io.gds4j.memory;

/**
 * A whole allocation with an id that tells it from a later one at the same address.
 *
 * @param base first byte
 * @param length bytes
 * @param id unique number of the allocation in this process
 *
 * @since 0.1
 */
public record AllocationTag(long base, long length, long id) {
}
