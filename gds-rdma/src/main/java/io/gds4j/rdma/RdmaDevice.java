package io.gds4j.rdma;

import io.gds4j.Experimental;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The limits of an RDMA device.
 *
 * @since 0.1
 */
@Experimental
public final class RdmaDevice {
    private final Parts parts;

    RdmaDevice(String name, int ports, int maxQueuePairs, int maxRequests, int maxRegions, int maxWindows, int maxReads,
            boolean atomics, Set<WindowType> windows) {
        parts = new Parts(name, ports, maxQueuePairs, maxRequests, maxRegions, maxWindows, maxReads, atomics, windows);
    }

    /** {@return its name} */
    public String name() {
        return parts.name;
    }

    /** {@return number of ports} */
    public int ports() {
        return parts.ports;
    }

    /** {@return most queue pairs} */
    public int maxQueuePairs() {
        return parts.maxQueuePairs;
    }

    /** {@return most requests in a queue} */
    public int maxRequests() {
        return parts.maxRequests;
    }

    /** {@return most memory regions} */
    public int maxRegions() {
        return parts.maxRegions;
    }

    /** {@return most memory windows} */
    public int maxWindows() {
        return parts.maxWindows;
    }

    /** {@return most reads and atomic operations in flight of a queue pair} */
    public int maxReads() {
        return parts.maxReads;
    }

    /** {@return whether it has atomic operations} */
    public boolean atomics() {
        return parts.atomics;
    }

    /** {@return the types of windows that it says to have} */
    public Set<WindowType> windows() {
        return parts.windows;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RdmaDevice that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "RdmaDevice");
    }

    private record Parts(String name, int ports, int maxQueuePairs, int maxRequests, int maxRegions, int maxWindows,
            int maxReads, boolean atomics, Set<WindowType> windows) {
    }
}
