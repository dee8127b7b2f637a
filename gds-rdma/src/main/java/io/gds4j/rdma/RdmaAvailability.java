package io.gds4j.rdma;

import io.gds4j.Experimental;
import java.util.List;

/**
 * Whether this machine has RDMA devices, and if not, why.
 *
 * @since 0.1
 */
@Experimental
public sealed interface RdmaAvailability {
    /**
     * This machine has RDMA devices.
     *
     * @param devices names of the devices, one or more
     * @param verbs opens a device
     *
     * @since 0.1
     */
    record Available(List<String> devices, RdmaDevices verbs) implements RdmaAvailability {
    }

    /**
     * This machine has none.
     *
     * @param reason the cause, one line
     * @param remedy what to do about it, one line
     *
     * @since 0.1
     */
    record Unavailable(String reason, String remedy) implements RdmaAvailability {
    }
}
