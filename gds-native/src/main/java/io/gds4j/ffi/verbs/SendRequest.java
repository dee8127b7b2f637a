package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

/** {@code struct ibv_send_wr} with its pieces of memory ({@code struct ibv_sge}). Each method of a verb begins a new request. */
public final class SendRequest extends Struct {
    /** {@code IBV_WR_*}. */
    public static final int RDMA_WRITE = 0;
    public static final int RDMA_WRITE_WITH_IMM = 1;
    public static final int SEND = 2;
    public static final int RDMA_READ = 4;
    public static final int ATOMIC_CMP_AND_SWP = 5;
    public static final int ATOMIC_FETCH_AND_ADD = 6;
    public static final int LOCAL_INV = 7;
    public static final int BIND_MW = 8;
    public static final int SEND_WITH_INV = 9;

    /** {@code IBV_SEND_*}. */
    public static final int FENCE = 1;
    public static final int SIGNALED = 1 << 1;
    public static final int INLINE = 1 << 3;

    static final long SIZE = 128;
    static final long WR_ID = 0;
    static final long SG_LIST = 16;
    static final long NUM_SGE = 24;
    static final long OPCODE = 28;
    static final long SEND_FLAGS = 32;
    static final long IMM_DATA = 36;
    static final long REMOTE_ADDR = 40;
    static final long RKEY = 48;
    static final long COMPARE_ADD = 48;
    static final long SWAP = 56;
    static final long ATOMIC_RKEY = 64;
    static final long BIND_MW_WINDOW = 80;
    static final long BIND_RKEY = 88;
    static final long BIND_MR = 96;
    static final long BIND_ADDR = 104;
    static final long BIND_LENGTH = 112;
    static final long BIND_ACCESS = 120;

    private final Pieces pieces;

    /** Makes a request of up to {@code maxPieces} pieces. */
    public SendRequest(int maxPieces) {
        super(SIZE);
        pieces = new Pieces(maxPieces);
        memory().set(JAVA_LONG, SG_LIST, pieces.address());
    }

    private SendRequest begin(long id, int opcode, int flags) {
        memory().set(JAVA_LONG, WR_ID, id);
        memory().set(JAVA_INT, OPCODE, opcode);
        memory().set(JAVA_INT, SEND_FLAGS, flags | SIGNALED);
        memory().set(JAVA_INT, IMM_DATA, 0);
        memory().set(JAVA_INT, NUM_SGE, 0);
        return this;
    }

    /** A write or read of the peer's memory. */
    public SendRequest rdma(long id, int opcode, int flags, long remoteAddress, int remoteKey) {
        begin(id, opcode, flags);
        memory().set(JAVA_LONG, REMOTE_ADDR, remoteAddress);
        memory().set(JAVA_INT, RKEY, remoteKey);
        return this;
    }

    /** A send; {@code key} is invalidated at the peer by {@link #SEND_WITH_INV}. */
    public SendRequest send(long id, int opcode, int flags, int key) {
        begin(id, opcode, flags);
        memory().set(JAVA_INT, IMM_DATA, key);
        return this;
    }

    /** An atomic operation on 8 bytes of the peer. */
    public SendRequest atomic(long id, int opcode, long remoteAddress, int remoteKey, long compareOrAdd, long swap) {
        begin(id, opcode, 0);
        memory().set(JAVA_LONG, REMOTE_ADDR, remoteAddress);
        memory().set(JAVA_LONG, COMPARE_ADD, compareOrAdd);
        memory().set(JAVA_LONG, SWAP, swap);
        memory().set(JAVA_INT, ATOMIC_RKEY, remoteKey);
        return this;
    }

    /** Invalidates a local key. */
    public SendRequest invalidate(long id, int key) {
        begin(id, LOCAL_INV, 0);
        memory().set(JAVA_INT, IMM_DATA, key);
        return this;
    }

    /** Binds a window of type 2. */
    public SendRequest bind(long id, long window, int key, long region, long address, long length, int access) {
        begin(id, BIND_MW, 0);
        memory().set(JAVA_LONG, BIND_MW_WINDOW, window);
        memory().set(JAVA_INT, BIND_RKEY, key);
        memory().set(JAVA_LONG, BIND_MR, region);
        memory().set(JAVA_LONG, BIND_ADDR, address);
        memory().set(JAVA_LONG, BIND_LENGTH, length);
        memory().set(JAVA_INT, BIND_ACCESS, access);
        return this;
    }

    /** Sets immediate data, in the order of the network. */
    public SendRequest immediate(int value) {
        memory().set(JAVA_INT, IMM_DATA, Integer.reverseBytes(value));
        return this;
    }

    /** Adds a piece of memory. */
    public SendRequest piece(long address, int length, int localKey) {
        int count = pieceCount();
        pieces.set(count, address, length, localKey);
        memory().set(JAVA_INT, NUM_SGE, count + 1);
        return this;
    }

    /** {@code wr_id}. */
    public long id() {
        return memory().get(JAVA_LONG, WR_ID);
    }

    /** {@code opcode}. */
    public int opcode() {
        return memory().get(JAVA_INT, OPCODE);
    }

    /** {@code send_flags}. */
    public int flags() {
        return memory().get(JAVA_INT, SEND_FLAGS);
    }

    /** {@code invalidate_rkey}, or immediate data in the order of the network. */
    public int key() {
        return memory().get(JAVA_INT, IMM_DATA);
    }

    /** {@code remote_addr}. */
    public long remoteAddress() {
        return memory().get(JAVA_LONG, REMOTE_ADDR);
    }

    /** {@code rkey} of a write, a read or an atomic operation. */
    public int remoteKey() {
        boolean atomic = opcode() == ATOMIC_CMP_AND_SWP || opcode() == ATOMIC_FETCH_AND_ADD;
        return memory().get(JAVA_INT, atomic ? ATOMIC_RKEY : RKEY);
    }

    /** {@code compare_add}. */
    public long compareOrAdd() {
        return memory().get(JAVA_LONG, COMPARE_ADD);
    }

    /** {@code swap}. */
    public long swap() {
        return memory().get(JAVA_LONG, SWAP);
    }

    /** {@code bind_mw.mw}. */
    public long window() {
        return memory().get(JAVA_LONG, BIND_MW_WINDOW);
    }

    /** {@code bind_mw.rkey}. */
    public int windowKey() {
        return memory().get(JAVA_INT, BIND_RKEY);
    }

    /** {@code bind_mw.bind_info.mr}. */
    public long bindRegion() {
        return memory().get(JAVA_LONG, BIND_MR);
    }

    /** {@code bind_mw.bind_info.addr}. */
    public long bindAddress() {
        return memory().get(JAVA_LONG, BIND_ADDR);
    }

    /** {@code bind_mw.bind_info.length}. */
    public long bindLength() {
        return memory().get(JAVA_LONG, BIND_LENGTH);
    }

    /** {@code bind_mw.bind_info.mw_access_flags}. */
    public int bindAccess() {
        return memory().get(JAVA_INT, BIND_ACCESS);
    }

    /** {@code num_sge}. */
    public int pieceCount() {
        return memory().get(JAVA_INT, NUM_SGE);
    }

    /** The pieces. */
    public Pieces pieces() {
        return pieces;
    }
}
