package io.gds4j.rdma;

import io.gds4j.Experimental;

/**
 * What a request asks for.
 *
 * @since 0.1
 */
@Experimental
public enum RdmaOperation {
    /** Writes to the peer's memory. */
    WRITE("RDMA write"),
    /** Reads the peer's memory. */
    READ("RDMA read"),
    /** Sends to a receive of the peer. */
    SEND("send"),
    /** Receives what the peer sends. */
    RECEIVE("receive"),
    /** Adds to 8 bytes of the peer. */
    FETCH_ADD("fetch-and-add"),
    /** Replaces 8 bytes of the peer if they hold a value. */
    COMPARE_SWAP("compare-and-swap"),
    /** Binds a memory window. */
    BIND("bind memory window"),
    /** Invalidates a local key. */
    INVALIDATE("local invalidate");

    private final String text;

    RdmaOperation(String text) {
        this.text = text;
    }

    /** {@return its name in messages} */
    public String text() {
        return text;
    }

    String verb() {
        return this == RECEIVE ? "ibv_post_recv" : "ibv_post_send";
    }
}
