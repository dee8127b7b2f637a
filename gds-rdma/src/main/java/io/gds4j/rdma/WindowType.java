package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.ffi.verbs.Verbs;

/**
 * The two types of memory windows.
 *
 * @since 0.1
 */
@Experimental
public enum WindowType {
    /** Bound by a call ({@code ibv_bind_mw}); every queue pair of the domain serves its key. */
    TYPE_1(Verbs.WINDOW_TYPE_1),
    /** Bound by a posted request; only the queue pair that bound it serves its key. */
    TYPE_2(Verbs.WINDOW_TYPE_2);

    private final int code;

    WindowType(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }
}
