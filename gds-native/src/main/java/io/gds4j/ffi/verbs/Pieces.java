package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

/** An array of {@code struct ibv_sge}: pieces of memory. */
final class Pieces extends Struct {
    static final long SIZE = 16;
    static final long ADDR = 0;
    static final long LENGTH = 8;
    static final long LKEY = 12;

    Pieces(int most) {
        super(SIZE * most);
    }

    long address() {
        return memory().address();
    }

    void set(int index, long address, int length, int key) {
        memory().set(JAVA_LONG, index * SIZE + ADDR, address);
        memory().set(JAVA_INT, index * SIZE + LENGTH, length);
        memory().set(JAVA_INT, index * SIZE + LKEY, key);
    }

    /** First byte of a piece. */
    public long address(int index) {
        return memory().get(JAVA_LONG, index * SIZE + ADDR);
    }

    /** Bytes of a piece. */
    public int length(int index) {
        return memory().get(JAVA_INT, index * SIZE + LENGTH);
    }

    /** Local key of a piece. */
    public int key(int index) {
        return memory().get(JAVA_INT, index * SIZE + LKEY);
    }
}
