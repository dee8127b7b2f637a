package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

/** {@code struct ibv_recv_wr} with its pieces of memory. */
public final class ReceiveRequest extends Struct {
    static final long SIZE = 32;
    static final long WR_ID = 0;
    static final long SG_LIST = 16;
    static final long NUM_SGE = 24;

    private final Pieces pieces;

    /** Makes a request of up to {@code maxPieces} pieces. */
    public ReceiveRequest(int maxPieces) {
        super(SIZE);
        pieces = new Pieces(maxPieces);
        memory().set(JAVA_LONG, SG_LIST, pieces.address());
    }

    /** Begins a new request. */
    public ReceiveRequest begin(long id) {
        memory().set(JAVA_LONG, WR_ID, id);
        memory().set(JAVA_INT, NUM_SGE, 0);
        return this;
    }

    /** Adds a piece of memory. */
    public ReceiveRequest piece(long address, int length, int localKey) {
        int count = pieceCount();
        pieces.set(count, address, length, localKey);
        memory().set(JAVA_INT, NUM_SGE, count + 1);
        return this;
    }

    /** {@code wr_id}. */
    public long id() {
        return memory().get(JAVA_LONG, WR_ID);
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
