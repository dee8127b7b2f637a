package io.gds4j.engine.statistics;

import io.gds4j.statistics.OperationCount;
import java.util.concurrent.atomic.LongAdder;

/** Calls of one kind that went well or failed; lock-free. */
final class CallCounter {
    private final LongAdder ok = new LongAdder();
    private final LongAdder failed = new LongAdder();

    void count(boolean well) {
        (well ? ok : failed).increment();
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
