package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

/** {@code struct ibv_device_attr}: the limits of a device. */
public final class DeviceAttributes extends Struct {
    /** {@code IBV_DEVICE_MEM_WINDOW}, {@code IBV_DEVICE_MEM_WINDOW_TYPE_2A} and {@code _2B}. */
    public static final int MEM_WINDOW = 1 << 17;
    public static final int MEM_WINDOW_2A = 1 << 23;
    public static final int MEM_WINDOW_2B = 1 << 24;

    static final long SIZE = 232;
    static final long MAX_MR_SIZE = 80;
    static final long MAX_QP = 108;
    static final long MAX_QP_WR = 112;
    static final long DEVICE_CAP_FLAGS = 116;
    static final long MAX_SGE = 120;
    static final long MAX_CQE = 132;
    static final long MAX_MR = 136;
    static final long MAX_QP_RD_ATOM = 144;
    static final long ATOMIC_CAP = 164;
    static final long MAX_MW = 176;
    static final long PHYS_PORT_CNT = 227;

    /** Makes an empty struct. */
    public DeviceAttributes() {
        super(SIZE);
    }

    /** Fills the struct, for doubles. */
    public void set(int flags, int maxQueuePairs, int maxRequests, int maxRegions, int maxWindows, int ports) {
        memory().set(JAVA_LONG, MAX_MR_SIZE, Long.MAX_VALUE);
        memory().set(JAVA_INT, DEVICE_CAP_FLAGS, flags);
        memory().set(JAVA_INT, MAX_QP, maxQueuePairs);
        memory().set(JAVA_INT, MAX_QP_WR, maxRequests);
        memory().set(JAVA_INT, MAX_CQE, 2 * maxRequests);
        memory().set(JAVA_INT, MAX_SGE, 4);
        memory().set(JAVA_INT, MAX_MR, maxRegions);
        memory().set(JAVA_INT, MAX_MW, maxWindows);
        memory().set(JAVA_INT, MAX_QP_RD_ATOM, 16);
        memory().set(JAVA_INT, ATOMIC_CAP, 1);
        memory().set(JAVA_BYTE, PHYS_PORT_CNT, (byte) ports);
    }

    /** Largest region, bytes; as unsigned. */
    public long maxRegionSize() {
        return memory().get(JAVA_LONG, MAX_MR_SIZE);
    }

    /** Most queue pairs. */
    public int maxQueuePairs() {
        return memory().get(JAVA_INT, MAX_QP);
    }

    /** Most requests of a queue. */
    public int maxRequests() {
        return memory().get(JAVA_INT, MAX_QP_WR);
    }

    /** Flags {@code IBV_DEVICE_*}. */
    public int flags() {
        return memory().get(JAVA_INT, DEVICE_CAP_FLAGS);
    }

    /** Most pieces of memory of a request. */
    public int maxPieces() {
        return memory().get(JAVA_INT, MAX_SGE);
    }

    /** Most completions of a completion queue. */
    public int maxCompletions() {
        return memory().get(JAVA_INT, MAX_CQE);
    }

    /** Most regions. */
    public int maxRegions() {
        return memory().get(JAVA_INT, MAX_MR);
    }

    /** Most reads and atomics in flight of a queue pair. */
    public int maxReads() {
        return memory().get(JAVA_INT, MAX_QP_RD_ATOM);
    }

    /** {@code enum ibv_atomic_cap}; 0 if there are no atomics. */
    public int atomics() {
        return memory().get(JAVA_INT, ATOMIC_CAP);
    }

    /** Most windows. */
    public int maxWindows() {
        return memory().get(JAVA_INT, MAX_MW);
    }

    /** Number of ports. */
    public int ports() {
        return Byte.toUnsignedInt(memory().get(JAVA_BYTE, PHYS_PORT_CNT));
    }
}
