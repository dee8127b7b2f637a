package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

/** {@code struct ibv_port_attr}. */
public final class PortAttributes extends Struct {
    /** {@code IBV_PORT_ACTIVE}. */
    public static final int ACTIVE = 4;
    /** {@code IBV_LINK_LAYER_ETHERNET}. */
    public static final int ETHERNET = 2;

    static final long SIZE = 52;
    static final long STATE = 0;
    static final long ACTIVE_MTU = 8;
    static final long GID_TBL_LEN = 12;
    static final long LID = 34;
    static final long LINK_LAYER = 46;

    /** Makes an empty struct. */
    public PortAttributes() {
        super(SIZE);
    }

    /** Fills the struct, for doubles. */
    public void set(int state, int activeMtu, int gids, int lid, int linkLayer) {
        memory().set(JAVA_INT, STATE, state);
        memory().set(JAVA_INT, ACTIVE_MTU, activeMtu);
        memory().set(JAVA_INT, GID_TBL_LEN, gids);
        memory().set(JAVA_SHORT, LID, (short) lid);
        memory().set(JAVA_BYTE, LINK_LAYER, (byte) linkLayer);
    }

    /** {@code enum ibv_port_state}. */
    public int state() {
        return memory().get(JAVA_INT, STATE);
    }

    /** {@code enum ibv_mtu}: 128 bytes shifted left by it. */
    public int activeMtu() {
        return memory().get(JAVA_INT, ACTIVE_MTU);
    }

    /** Number of GIDs. */
    public int gids() {
        return memory().get(JAVA_INT, GID_TBL_LEN);
    }

    /** The local identifier; 0 on Ethernet. */
    public int lid() {
        return Short.toUnsignedInt(memory().get(JAVA_SHORT, LID));
    }

    /** {@code IBV_LINK_LAYER_*}. */
    public int linkLayer() {
        return memory().get(JAVA_BYTE, LINK_LAYER);
    }
}
