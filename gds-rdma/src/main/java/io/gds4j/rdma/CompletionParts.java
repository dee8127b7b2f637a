package io.gds4j.rdma;

import java.util.OptionalInt;

/** The parts of a {@link Completion}. */
record CompletionParts(long id, RdmaOperation operation, CompletionStatus status, int bytes, OptionalInt immediate,
        int vendorError) implements Completion {}
