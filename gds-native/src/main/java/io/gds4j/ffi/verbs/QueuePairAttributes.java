package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;

/** {@code struct ibv_qp_attr}: what {@code ibv_modify_qp} sets, and the masks of the three steps to a connection. */
public final class QueuePairAttributes extends Struct {
    /** {@code IBV_QPS_*}. */
    public static final int INIT = 1;
    public static final int READY_TO_RECEIVE = 2;
    public static final int READY_TO_SEND = 3;
    public static final int ERROR = 6;

    /** {@code IBV_QP_STATE}. */
    public static final int STATE_MASK = 1;
    /** STATE, PKEY_INDEX, PORT, ACCESS_FLAGS. */
    public static final int INIT_MASK = STATE_MASK | 1 << 4 | 1 << 5 | 1 << 3;
    /** STATE, AV, PATH_MTU, DEST_QPN, RQ_PSN. */
    public static final int RECEIVE_MASK = STATE_MASK | 1 << 7 | 1 << 8 | 1 << 20 | 1 << 12;
    /** MAX_DEST_RD_ATOMIC, MIN_RNR_TIMER: of RC alone. */
    public static final int RECEIVE_RC_MASK = RECEIVE_MASK | 1 << 17 | 1 << 15;
    /** STATE, SQ_PSN. */
    public static final int SEND_MASK = STATE_MASK | 1 << 16;
    /** TIMEOUT, RETRY_CNT, RNR_RETRY, MAX_QP_RD_ATOMIC: of RC alone. */
    public static final int SEND_RC_MASK = SEND_MASK | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13;

    static final long SIZE = 144;
    static final long QP_STATE = 0;
    static final long PATH_MTU = 8;
    static final long RQ_PSN = 20;
    static final long SQ_PSN = 24;
    static final long DEST_QP_NUM = 28;
    static final long QP_ACCESS_FLAGS = 32;
    static final long DGID = 56;
    static final long SGID_INDEX = 76;
    static final long HOP_LIMIT = 77;
    static final long DLID = 80;
    static final long IS_GLOBAL = 85;
    static final long AH_PORT_NUM = 86;
    static final long MAX_RD_ATOMIC = 126;
    static final long MAX_DEST_RD_ATOMIC = 127;
    static final long MIN_RNR_TIMER = 128;
    static final long PORT_NUM = 129;
    static final long TIMEOUT = 130;
    static final long RETRY_CNT = 131;
    static final long RNR_RETRY = 132;
    static final int GID_BYTES = 16;
    private static final byte HOPS = 64;

    /** Makes attributes with a state alone. */
    public QueuePairAttributes(int state) {
        super(SIZE);
        memory().set(JAVA_INT, QP_STATE, state);
    }

    /** Sets the port and what peers may do at all. */
    public QueuePairAttributes port(int port, int access) {
        memory().set(JAVA_BYTE, PORT_NUM, (byte) port);
        memory().set(JAVA_INT, QP_ACCESS_FLAGS, access);
        return this;
    }

    /**
     * Sets the way to the peer.
     *
     * @param gid 16 bytes
     * @param gidIndex the own GID
     */
    public QueuePairAttributes path(int port, int gidIndex, byte[] gid, int lid, int mtu) {
        memory().set(JAVA_INT, PATH_MTU, mtu);
        MemorySegment.copy(gid, 0, memory(), JAVA_BYTE, DGID, GID_BYTES);
        memory().set(JAVA_BYTE, SGID_INDEX, (byte) gidIndex);
        memory().set(JAVA_BYTE, HOP_LIMIT, HOPS);
        memory().set(JAVA_SHORT, DLID, (short) lid);
        memory().set(JAVA_BYTE, IS_GLOBAL, (byte) 1);
        memory().set(JAVA_BYTE, AH_PORT_NUM, (byte) port);
        return this;
    }

    /** Sets the peer's queue pair, its first packet, how many reads it may have in flight, and its wait for a receive. */
    public QueuePairAttributes peer(int number, int firstPacket, int reads, int receiverNotReadyTimer) {
        memory().set(JAVA_INT, DEST_QP_NUM, number);
        memory().set(JAVA_INT, RQ_PSN, firstPacket);
        memory().set(JAVA_BYTE, MAX_DEST_RD_ATOMIC, (byte) reads);
        memory().set(JAVA_BYTE, MIN_RNR_TIMER, (byte) receiverNotReadyTimer);
        return this;
    }

    /** Sets the own first packet, retries and reads in flight. */
    public QueuePairAttributes sending(int firstPacket, int timeout, int retries, int receiverRetries, int reads) {
        memory().set(JAVA_INT, SQ_PSN, firstPacket);
        memory().set(JAVA_BYTE, TIMEOUT, (byte) timeout);
        memory().set(JAVA_BYTE, RETRY_CNT, (byte) retries);
        memory().set(JAVA_BYTE, RNR_RETRY, (byte) receiverRetries);
        memory().set(JAVA_BYTE, MAX_RD_ATOMIC, (byte) reads);
        return this;
    }

    /** {@code qp_state}. */
    public int state() {
        return memory().get(JAVA_INT, QP_STATE);
    }

    /** {@code dest_qp_num}. */
    public int peer() {
        return memory().get(JAVA_INT, DEST_QP_NUM);
    }

    /** {@code qp_access_flags}. */
    public int access() {
        return memory().get(JAVA_INT, QP_ACCESS_FLAGS);
    }
}
