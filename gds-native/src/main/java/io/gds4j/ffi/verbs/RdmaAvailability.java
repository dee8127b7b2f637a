package io.gds4j.ffi.verbs;

import java.util.List;

/**
 * Whether this machine has RDMA devices, and if not, why.
 *
 * @since 0.1
 */
public sealed interface RdmaAvailability {
    /**
     * It has.
     *
     * @param devices their names, one or more
     * @param verbs opens them
     */
    record Available(List<String> devices, RdmaDevices verbs) implements RdmaAvailability {
    }

    /**
     * It has not.
     *
     * @param reason what is missing, one line
     * @param remedy what a person could do about it, one line
     */
    record Unavailable(String reason, String remedy) implements RdmaAvailability {
    }
}
