package io.gds4j.memory;

/**
 * A whole allocation, and what tells it from a later one at the same address.
 *
 * @param base first byte
 * @param length bytes
 * @param id number that no other allocation of the process has or had
 *
 * @since 0.1
 */
public record AllocationTag(long base, long length, long id) {
}
