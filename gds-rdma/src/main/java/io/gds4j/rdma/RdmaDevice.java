package io.gds4j.rdma;

import io.gds4j.Experimental;
import java.util.Set;

/**
 * The limits of an RDMA device.
 *
 * @param name its name
 * @param ports number of ports
 * @param maxQueuePairs most queue pairs
 * @param maxRequests most requests in a queue
 * @param maxRegions most memory regions
 * @param maxWindows most memory windows
 * @param maxReads most reads and atomic operations in flight of a queue pair
 * @param atomics whether it has atomic operations
 * @param windows the types of windows that it says to have
 *
 * @since 0.1
 */
@Experimental
public record RdmaDevice(
        String name, int ports, int maxQueuePairs, int maxRequests, int maxRegions, int maxWindows, int maxReads,
        boolean atomics, Set<WindowType> windows) {
}
