package io.gds4j.engine.statistics;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** Counts reads or writes, their bytes and times. Lock-free. */
final class TransferCounter {
    /** Buckets of cuFile's histograms. */
    static final int BUCKETS = 32;

    private static final long KIB = 1024;
    private static final long MICRO = 1000;

    private final CallCounter calls = new CallCounter();
    private final LongAdder bytes = new LongAdder();
    private final LongAdder nanos = new LongAdder();
    private final SecondsRate bytesRate = new SecondsRate();
    private final SecondsRate callsRate = new SecondsRate();
    private final AtomicLongArray histogram = new AtomicLongArray(BUCKETS);

    /**
     * Counts a transfer.
     *
     * @param moved bytes moved
     * @param size bytes requested
     * @param histograms whether the size is counted, too
     */
    void count(boolean succeeded, long moved, long size, long begun, long ended, boolean histograms) {
        calls.count(succeeded);
        bytes.add(moved);
        nanos.add(ended - begun);
        bytesRate.add(moved, ended);
        callsRate.add(1, ended);
        if (histograms) {
            histogram.incrementAndGet(bucket(size));
        }
    }

    /** Returns 0 for sizes below 4 KiB, 1 below 8 KiB, and so on; the last bucket takes the rest. */
    static int bucket(long size) {
        long kib = size / KIB;
        return kib < 4 ? 0 : Math.min(BUCKETS - 1, Long.SIZE - 2 - Long.numberOfLeadingZeros(kib));
    }

    CallCounter calls() {
        return calls;
    }

    long bytes() {
        return bytes.sum();
    }

    long micros() {
        return nanos.sum() / MICRO;
    }

    long averageMicros() {
        long count = calls.total();
        return count == 0 ? 0 : micros() / count;
    }

    long bytesPerSecond(long now) {
        return bytesRate.lastSecond(now);
    }

    long callsPerSecond(long now) {
        return callsRate.lastSecond(now);
    }

    List<Long> histogram() {
        List<Long> counts = new ArrayList<>(BUCKETS);
        for (int i = 0; i < BUCKETS; i++) {
            counts.add(histogram.get(i));
        }
        return counts;
    }

    void reset() {
        calls.reset();
        bytes.reset();
        nanos.reset();
        bytesRate.reset();
        callsRate.reset();
        for (int i = 0; i < BUCKETS; i++) {
            histogram.set(i, 0);
        }
    }
}
