package io.gds4j.rdma;

import io.gds4j.Experimental;

/**
 * How a request ended ({@code enum ibv_wc_status}, in its order).
 *
 * @since 0.1
 */
@Experimental
public enum CompletionStatus {
    /** It succeeded. On a queue pair of type UC, the peer may still have dropped it. */
    SUCCESS("success"),
    /** The memory of a receive was too small, or of a request too large. */
    LOC_LEN_ERR("local length error"),
    /** An internal error of the queue pair. */
    LOC_QP_OP_ERR("local queue pair operation error"),
    /** An internal error of an end-to-end context. */
    LOC_EEC_OP_ERR("local end-to-end context operation error"),
    /** The local memory is not registered for this. */
    LOC_PROT_ERR("local protection error"),
    /** It was waiting when the queue pair failed. */
    WR_FLUSH_ERR("flushed: the queue pair has failed"),
    /** A window could not be bound or invalidated. */
    MW_BIND_ERR("memory window bind error"),
    /** The peer answered nonsense. */
    BAD_RESP_ERR("bad response"),
    /** The local memory of a write with immediate data could not be reached. */
    LOC_ACCESS_ERR("local access error"),
    /** The peer took the request for invalid: its receive was too small, or it serves no such operation. */
    REM_INV_REQ_ERR("remote invalid request"),
    /** The peer's memory may not be accessed so: a dead key, a range outside, a right that is not there, another domain. */
    REM_ACCESS_ERR("remote access error"),
    /** The peer could not finish the operation. */
    REM_OP_ERR("remote operation error"),
    /** The peer did not answer. */
    RETRY_EXC_ERR("transport retry counter exceeded: the peer does not answer"),
    /** The peer had no receive ready. */
    RNR_RETRY_EXC_ERR("receiver not ready: the peer posted no receive"),
    /** A violation of a reliable datagram domain. */
    LOC_RDD_VIOL_ERR("local RDD violation"),
    /** An invalid request of a reliable datagram. */
    REM_INV_RD_REQ_ERR("remote invalid RD request"),
    /** The operation was aborted. */
    REM_ABORT_ERR("remote aborted"),
    /** An invalid number of an end-to-end context. */
    INV_EECN_ERR("invalid end-to-end context number"),
    /** An invalid state of an end-to-end context. */
    INV_EEC_STATE_ERR("invalid end-to-end context state"),
    /** A fatal error of the device. */
    FATAL_ERR("fatal error"),
    /** The device did not answer in time. */
    RESP_TIMEOUT_ERR("response timeout"),
    /** Any other error. */
    GENERAL_ERR("general error");

    private static final CompletionStatus[] ALL = values();

    private final String text;

    CompletionStatus(String text) {
        this.text = text;
    }

    /** {@return the cause, for a message} */
    public String text() {
        return text;
    }

    static CompletionStatus of(int code) {
        return code >= 0 && code < ALL.length ? ALL[code] : GENERAL_ERR;
    }
}
