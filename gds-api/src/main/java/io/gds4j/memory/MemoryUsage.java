package io.gds4j.memory;

/**
 * Memory of one kind that an allocator has allocated, in requested bytes.
 *
 * @param allocations number of open allocations
 * @param bytes size of the open allocations
 * @param peakBytes largest size of the open allocations so far
 * @param allBytes size of all allocations so far
 * @since 0.1
 */
public record MemoryUsage(long allocations, long bytes, long peakBytes, long allBytes) {}
