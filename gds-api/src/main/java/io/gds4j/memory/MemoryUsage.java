package io.gds4j.memory;

/**
 * What an allocator has given out of one kind, in bytes as they were asked for.
 *
 * @param allocations that are not closed
 * @param bytes that they hold
 * @param peakBytes most that they ever held at a time
 * @param allBytes given out since the beginning
 *
 * @since 0.1
 */
public record MemoryUsage(long allocations, long bytes, long peakBytes, long allBytes) {
}
