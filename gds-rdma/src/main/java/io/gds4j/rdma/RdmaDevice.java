package io.gds4j.rdma;

import io.gds4j.Experimental;
import java.util.Set;

/**
 * The limits of an RDMA device.
 *
 * @since 0.1
 */
@Experimental
public sealed interface RdmaDevice permits RdmaDeviceParts {
    /** {@return its name} */
    String name();

    /** {@return number of ports} */
    int ports();

    /** {@return most queue pairs} */
    int maxQueuePairs();

    /** {@return most requests in a queue} */
    int maxRequests();

    /** {@return most memory regions} */
    int maxRegions();

    /** {@return most memory windows} */
    int maxWindows();

    /** {@return most reads and atomic operations in flight of a queue pair} */
    int maxReads();

    /** {@return whether it has atomic operations} */
    boolean atomics();

    /** {@return the types of windows that it says to have} */
    Set<WindowType> windows();
}
