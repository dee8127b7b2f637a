package io.gds4j.engine.statistics;

import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.IoPath;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;

/** The counters of batches at level 1. Lock-free. */
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

    /** Counts a submission that lasted from {@code begun} to {@code now}. */
    void submitted(
            boolean succeeded, List<BatchRequest> requests, Function<BatchRequest, IoPath> path, long begun, long now) {
        submits.count(succeeded);
        submitNanos.add(now - begun);
        submitRate.add(requests.size(), now);
        for (BatchRequest request : requests) {
            enqueued.count(path.apply(request), succeeded);
        }
        if (succeeded) {
            lastReadBytes = bytes(requests, Operation.READ);
            lastWriteBytes = bytes(requests, Operation.WRITE);
        }
    }

    private static long bytes(List<BatchRequest> requests, Operation operation) {
        return requests.stream()
                .filter(request -> request.operation() == operation)
                .mapToLong(BatchRequest::size)
                .sum();
    }

    /** Counts an entry that is complete. */
    void processed(IoPath path, Operation operation, boolean succeeded, long moved, long begun, long now) {
        processed.count(path, succeeded);
        (operation.isWrite() ? writeBytes : readBytes).add(moved);
        (operation.isWrite() ? writeRate : readRate).add(moved, now);
        completionNanos.add(now - begun);
        completeRate.add(1, now);
    }

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
