package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

/** An array of {@code struct ibv_wc}: finished requests. */
public final class WorkCompletions extends Struct {
    /** {@code IBV_WC_WITH_IMM}, {@code IBV_WC_WITH_INV}. */
    public static final int WITH_IMMEDIATE = 1 << 1;
    public static final int WITH_INVALIDATE = 1 << 3;
    /**
     * WITH_INVALIDATE, or what the kernel calls so ({@code 1 << 2}), which Soft-RoCE passes on; a connected queue pair has no other use of it.
     */
    public static final int ANY_INVALIDATE = WITH_INVALIDATE | 1 << 2;
    /** {@code IBV_WC_RECV}. */
    public static final int RECEIVE = 128;

    static final long SIZE = 48;
    static final long WR_ID = 0;
    static final long STATUS = 8;
    static final long OPCODE = 12;
    static final long VENDOR_ERR = 16;
    static final long BYTE_LEN = 20;
    static final long IMM_DATA = 24;
    static final long QP_NUM = 28;
    static final long WC_FLAGS = 36;

    private final int most;

    /** Makes room for up to {@code most} completions. */
    public WorkCompletions(int most) {
        super(SIZE * most);
        this.most = most;
    }

    /** Most completions. */
    public int most() {
        return most;
    }

    /** Fills a completion, for doubles. */
    public void set(int index, long id, int status, int opcode, int bytes, int data, int queuePair, int flags) {
        memory().set(JAVA_LONG, index * SIZE + WR_ID, id);
        memory().set(JAVA_INT, index * SIZE + STATUS, status);
        memory().set(JAVA_INT, index * SIZE + OPCODE, opcode);
        memory().set(JAVA_INT, index * SIZE + BYTE_LEN, bytes);
        memory().set(JAVA_INT, index * SIZE + IMM_DATA, data);
        memory().set(JAVA_INT, index * SIZE + QP_NUM, queuePair);
        memory().set(JAVA_INT, index * SIZE + WC_FLAGS, flags);
    }

    /** {@code wr_id}. */
    public long id(int index) {
        return memory().get(JAVA_LONG, index * SIZE + WR_ID);
    }

    /** {@code enum ibv_wc_status}. */
    public int status(int index) {
        return memory().get(JAVA_INT, index * SIZE + STATUS);
    }

    /** {@code enum ibv_wc_opcode}; only meaningful if the request succeeded. */
    public int opcode(int index) {
        return memory().get(JAVA_INT, index * SIZE + OPCODE);
    }

    /** {@code vendor_err}. */
    public int vendorError(int index) {
        return memory().get(JAVA_INT, index * SIZE + VENDOR_ERR);
    }

    /** Bytes received. */
    public int bytes(int index) {
        return memory().get(JAVA_INT, index * SIZE + BYTE_LEN);
    }

    /** {@code invalidated_rkey}, or immediate data in the order of the network. */
    public int data(int index) {
        return memory().get(JAVA_INT, index * SIZE + IMM_DATA);
    }

    /** {@code wc_flags}. */
    public int flags(int index) {
        return memory().get(JAVA_INT, index * SIZE + WC_FLAGS);
    }
}
