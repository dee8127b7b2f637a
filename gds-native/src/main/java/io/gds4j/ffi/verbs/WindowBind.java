package io.gds4j.ffi.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

/** {@code struct ibv_mw_bind}: binds a window of type 1. */
public final class WindowBind extends Struct {
    static final long SIZE = 48;
    static final long WR_ID = 0;
    static final long SEND_FLAGS = 8;
    static final long MR = 16;
    static final long ADDR = 24;
    static final long LENGTH = 32;
    static final long ACCESS = 40;

    /** Makes a bind that causes a completion. */
    public WindowBind(long id, long region, long address, long length, int access) {
        super(SIZE);
        memory().set(JAVA_LONG, WR_ID, id);
        memory().set(JAVA_INT, SEND_FLAGS, SendRequest.SIGNALED);
        memory().set(JAVA_LONG, MR, region);
        memory().set(JAVA_LONG, ADDR, address);
        memory().set(JAVA_LONG, LENGTH, length);
        memory().set(JAVA_INT, ACCESS, access);
    }

    /** {@code wr_id}. */
    public long id() {
        return memory().get(JAVA_LONG, WR_ID);
    }

    /** {@code bind_info.mr}. */
    public long region() {
        return memory().get(JAVA_LONG, MR);
    }

    /** {@code bind_info.addr}. */
    public long address() {
        return memory().get(JAVA_LONG, ADDR);
    }

    /** {@code bind_info.length}; 0 unbinds. */
    public long length() {
        return memory().get(JAVA_LONG, LENGTH);
    }

    /** {@code bind_info.mw_access_flags}. */
    public int access() {
        return memory().get(JAVA_INT, ACCESS);
    }
}
