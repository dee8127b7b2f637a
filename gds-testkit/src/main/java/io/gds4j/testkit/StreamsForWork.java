package io.gds4j.testkit;

import java.util.Optional;
import java.util.concurrent.Executor;

/** A backend whose streams run work of Java in stream order. */
interface StreamsForWork {
    /** {@return queues work on the stream with this address; empty if no open stream has it} */
    Optional<Executor> find(long stream);
}
