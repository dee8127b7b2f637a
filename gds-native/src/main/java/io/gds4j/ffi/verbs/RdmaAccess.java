package io.gds4j.ffi.verbs;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.util.Set;

/**
 * What a local RDMA device and its remote peers may do with a memory region. Local reads are always allowed.
 *
 * @since 0.1
 */
public enum RdmaAccess {
    /** The local device writes received data. */
    LOCAL_WRITE(1),
    /** Peers write; needs LOCAL_WRITE. */
    REMOTE_WRITE(2),
    /** Peers read. */
    REMOTE_READ(4),
    /** Peers do atomic operations; needs LOCAL_WRITE. */
    REMOTE_ATOMIC(8),
    /** Memory windows may be bound to it. */
    WINDOW_BIND(16),
    /** Writes need not keep their order. */
    RELAXED_ORDERING(1 << 20);

    private final int bit;

    RdmaAccess(int bit) {
        this.bit = bit;
    }

    /** Refuses the combinations that verbs would refuse. */
    static int toBits(Set<RdmaAccess> rights) {
        boolean writes = rights.contains(REMOTE_WRITE) || rights.contains(REMOTE_ATOMIC);
        if (writes && !rights.contains(LOCAL_WRITE)) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE, "ibv_reg_mr", "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE");
        }
        int bits = 0;
        for (RdmaAccess right : rights) {
            bits |= right.bit;
        }
        return bits;
    }
}
