package io.gds4j.compat;

import java.util.concurrent.atomic.LongAdder;

/** What level 1 counts of batches; lock-free. */
final class BatchCounters {
    final CallCounter submits = new CallCounter();
    final CallCounter completes = new CallCounter();
    final CallCounter setUps = new CallCounter();
    final CallCounter cancels = new CallCounter();
    final CallCounter destroys = new CallCounter();
    final CallCounter enqueued = new CallCounter();
    final CallCounter processed = new CallCounter();
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

    /** A submission of so many entries, accepted or not. */
    void submitted(boolean well, int entries, long readSize, long writeSize, long begun, long ended) {
        submits.count(well);
        enqueued.count(well, entries);
        submitNanos.add(ended - begun);
        submitRate.add(entries, ended);
        if (well) {
            lastReadBytes = readSize;
            lastWriteBytes = writeSize;
        }
    }

    /** An entry that was at work is done. */
    void processed(boolean write, boolean well, long moved, long submitted, long ended) {
        processed.count(well);
        (write ? writeBytes : readBytes).add(moved);
        (write ? writeRate : readRate).add(moved, ended);
        completionNanos.add(ended - submitted);
        completeRate.add(1, ended);
    }

    void reset() {
        for (CallCounter counter : new CallCounter[]{
                submits, completes, setUps, cancels, destroys, enqueued, processed}) {
            counter.reset();
        }
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
