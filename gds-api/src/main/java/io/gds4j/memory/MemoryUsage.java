package io.gds4j.memory;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Memory of one kind that an allocator has allocated, in requested bytes.
 *
 * @since 0.1
 */
public final class MemoryUsage {
    private final long allocations;
    private final long bytes;
    private final long peakBytes;
    private final long allBytes;

    /**
     * Sets the parts.
     *
     * @param allocations as {@link #allocations}
     * @param bytes as {@link #bytes}
     * @param peakBytes as {@link #peakBytes}
     * @param allBytes as {@link #allBytes}
     */
    public MemoryUsage(long allocations, long bytes, long peakBytes, long allBytes) {
        this.allocations = allocations;
        this.bytes = bytes;
        this.peakBytes = peakBytes;
        this.allBytes = allBytes;
    }

    /** {@return number of open allocations} */
    public long allocations() {
        return allocations;
    }

    /** {@return size of the open allocations} */
    public long bytes() {
        return bytes;
    }

    /** {@return largest size of the open allocations so far} */
    public long peakBytes() {
        return peakBytes;
    }

    /** {@return size of all allocations so far} */
    public long allBytes() {
        return allBytes;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof MemoryUsage that && allocations == that.allocations && bytes == that.bytes
                && peakBytes == that.peakBytes && allBytes == that.allBytes;
    }

    @Override
    public int hashCode() {
        return Objects.hash(allocations, bytes, peakBytes, allBytes);
    }

    @Override
    public String toString() {
        return "MemoryUsage[allocations=" + allocations + ", bytes=" + bytes + ", peakBytes=" + peakBytes
                + ", allBytes=" + allBytes + ']';
    }
}
