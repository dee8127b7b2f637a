package io.gds4j.memory;

import org.jspecify.annotations.Nullable;

/**
 * Memory of one kind that an allocator has allocated, in requested bytes.
 *
 * @since 0.1
 */
public final class MemoryUsage {
    private final Parts parts;

    /**
     * Sets the parts.
     *
     * @param allocations as {@link #allocations}
     * @param bytes as {@link #bytes}
     * @param peakBytes as {@link #peakBytes}
     * @param allBytes as {@link #allBytes}
     */
    public MemoryUsage(long allocations, long bytes, long peakBytes, long allBytes) {
        parts = new Parts(allocations, bytes, peakBytes, allBytes);
    }

    /** {@return number of open allocations} */
    public long allocations() {
        return parts.allocations;
    }

    /** {@return size of the open allocations} */
    public long bytes() {
        return parts.bytes;
    }

    /** {@return largest size of the open allocations so far} */
    public long peakBytes() {
        return parts.peakBytes;
    }

    /** {@return size of all allocations so far} */
    public long allBytes() {
        return parts.allBytes;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof MemoryUsage that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "MemoryUsage");
    }

    private record Parts(long allocations, long bytes, long peakBytes, long allBytes) {}
}
