package io.gds4j.rdma;

import org.jspecify.annotations.Nullable;

/** A posted request until its completion: the device names the operation of a failed request no more. */
final class PendingRequest {
    final long id;
    final RdmaOperation operation;
    /** True if a method of ours waits for it, instead of the program. */
    final boolean internal;
    /** Of an internal request, once it has ended. */
    @Nullable
    Completion completion;

    PendingRequest(long id, RdmaOperation operation, boolean internal) {
        this.id = id;
        this.operation = operation;
        this.internal = internal;
    }
}
