package io.gds4j.ffi.statistics;

import java.util.concurrent.atomic.LongAdder;

/** What level 1 counts of batches; lock-free. */
final class BatchCounters {
    final CallCounter submits = new CallCounter();
    final CallCounter completes = new CallCounter();
    final CallCounter setUps = new CallCounter();
    final CallCounter cancels = new CallCounter();
    final CallCounter destroys = new CallCounter();
    final CallsByPath enqueued = new CallsByPath();
    final CallsByPath processed = new CallsByPath();
    final LongAdder readBytes = new LongAdder();
    final LongAdder writeBytes = new LongAdder();
    final LongAdder submitNanos = new LongAdder();
    final LongAdder completionNanos = new LongAdder();
    final SecondsRate readRate = new SecondsRate();
    final SecondsRate writeRate = new SecondsRate();
    final SecondsRate submitRate = new SecondsRate();
    final SecondsRate completeRate = new SecondsRate();
    volatile long lastReadBytes;
    volatile long lastWriteBytes;

    void reset() {
        for (CallCounter counter : new CallCounter[]{submits, completes, setUps, cancels, destroys}) {
            counter.reset();
        }
        enqueued.reset();
        processed.reset();
        for (LongAdder adder : new LongAdder[]{readBytes, writeBytes, submitNanos, completionNanos}) {
            adder.reset();
        }
        for (SecondsRate rate : new SecondsRate[]{readRate, writeRate, submitRate, completeRate}) {
            rate.reset();
        }
        lastReadBytes = 0;
        lastWriteBytes = 0;
    }
}
