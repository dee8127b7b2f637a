package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.ffi.verbs.QueuePairInit;

/**
 * The transport of a queue pair.
 *
 * @since 0.1
 */
@Experimental
public enum QueuePairType {
    /** Reliable connection: each request is acknowledged, or fails. */
    RC(QueuePairInit.RC),
    /** Unreliable connection: writes and sends without an answer; success says nothing about the peer. */
    UC(QueuePairInit.UC);

    private final int code;

    QueuePairType(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }
}
