package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.verbs.Verbs;
import io.gds4j.memory.MemoryRange;
import java.util.Set;

/**
 * What a local RDMA device and its remote peers may do with a memory region. Local reads are always allowed.
 *
 * @since 0.1
 */
@Experimental
public enum RdmaAccess {
    /** The local device writes received data. */
    LOCAL_WRITE(Verbs.ACCESS_LOCAL_WRITE),
    /** Peers write; needs LOCAL_WRITE. */
    REMOTE_WRITE(Verbs.ACCESS_REMOTE_WRITE),
    /** Peers read. */
    REMOTE_READ(Verbs.ACCESS_REMOTE_READ),
    /** Peers do atomic operations; needs LOCAL_WRITE. */
    REMOTE_ATOMIC(Verbs.ACCESS_REMOTE_ATOMIC),
    /** Memory windows may be bound to it. */
    WINDOW_BIND(Verbs.ACCESS_MW_BIND),
    /** Writes need not keep their order. */
    RELAXED_ORDERING(Verbs.ACCESS_RELAXED_ORDERING);

    private final int bit;

    RdmaAccess(int bit) {
        this.bit = bit;
    }

    /** Like {@link #toBits(Set)}; refuses that a device writes to memory that the program may only read. */
    static int toBits(Set<RdmaAccess> rights, MemoryRange memory, String verb) {
        if (rights.contains(LOCAL_WRITE) && !memory.isWritable()) {
            throw RdmaFailure.of(
                    CuFileError.PERMISSION_DENIED, verb, Errno.EACCES, "LOCAL_WRITE to a segment that is read-only");
        }
        return toBits(rights);
    }

    /** Refuses the combinations that verbs would refuse. */
    static int toBits(Set<RdmaAccess> rights) {
        if (writes(rights) && !rights.contains(LOCAL_WRITE)) {
            throw RdmaFailure.of(
                    CuFileError.INVALID_VALUE, "ibv_reg_mr", Errno.EINVAL,
                    "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE");
        }
        return bits(rights);
    }

    /** Whether peers may change memory. */
    static boolean writes(Set<RdmaAccess> rights) {
        return rights.contains(REMOTE_WRITE) || rights.contains(REMOTE_ATOMIC);
    }

    static int bits(Set<RdmaAccess> rights) {
        int bits = 0;
        for (RdmaAccess right : rights) {
            bits |= right.bit;
        }
        return bits;
    }
}
