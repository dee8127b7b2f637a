package io.gds4j.engine.statistics;

import io.gds4j.statistics.OperationCount;
import java.util.concurrent.atomic.LongAdder;

/** Counts calls of one kind that succeeded or failed. Lock-free. */
final class CallCounter {
    private final LongAdder ok = new LongAdder();
    private final LongAdder failed = new LongAdder();

    void count(boolean succeeded) {
        (succeeded ? ok : failed).increment();
    }

    long total() {
        return ok.sum() + failed.sum();
    }

    OperationCount snapshot() {
        return new OperationCount(ok.sum(), failed.sum());
    }

    void reset() {
        ok.reset();
        failed.reset();
    }
}
