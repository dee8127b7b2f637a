package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

/** {@code struct ibv_qp_init_attr}: what a queue pair is made with. */
public final class QueuePairInit extends Struct {
    /** {@code IBV_QPT_*}. */
    public static final int RC = 2;
    public static final int UC = 3;

    static final long SIZE = 64;
    static final long SEND_CQ = 8;
    static final long RECV_CQ = 16;
    static final long MAX_SEND_WR = 32;
    static final long MAX_RECV_WR = 36;
    static final long MAX_SEND_SGE = 40;
    static final long MAX_RECV_SGE = 44;
    static final long MAX_INLINE_DATA = 48;
    static final long QP_TYPE = 52;
    static final long SQ_SIG_ALL = 56;

    /**
     * Makes the attributes of a queue pair whose requests all cause completions.
     *
     * @param type {@link #RC} or {@link #UC}
     * @param completions the queue of all completions
     * @param sends most requests in the send queue
     * @param receives most requests in the receive queue
     * @param pieces most pieces of a request
     * @param inline most bytes of inline data
     */
    public QueuePairInit(int type, long completions, int sends, int receives, int pieces, int inline) {
        super(SIZE);
        memory().set(JAVA_LONG, SEND_CQ, completions);
        memory().set(JAVA_LONG, RECV_CQ, completions);
        memory().set(JAVA_INT, MAX_SEND_WR, sends);
        memory().set(JAVA_INT, MAX_RECV_WR, receives);
        memory().set(JAVA_INT, MAX_SEND_SGE, pieces);
        memory().set(JAVA_INT, MAX_RECV_SGE, pieces);
        memory().set(JAVA_INT, MAX_INLINE_DATA, inline);
        memory().set(JAVA_INT, QP_TYPE, type);
        memory().set(JAVA_INT, SQ_SIG_ALL, 1);
    }

    /** {@link #RC} or {@link #UC}. */
    public int type() {
        return memory().get(JAVA_INT, QP_TYPE);
    }

    /** The queue of completions. */
    public long completions() {
        return memory().get(JAVA_LONG, SEND_CQ);
    }

    /** Most requests in the send queue. */
    public int sends() {
        return memory().get(JAVA_INT, MAX_SEND_WR);
    }

    /** Most requests in the receive queue. */
    public int receives() {
        return memory().get(JAVA_INT, MAX_RECV_WR);
    }

    /** Most bytes of inline data. */
    public int inlineBytes() {
        return memory().get(JAVA_INT, MAX_INLINE_DATA);
    }
}
