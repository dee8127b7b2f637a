package io.gds4j.engine.statistics;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * The sum of the last full second. Lock-free: an amount that is added in the instant in which a second begins may be lost.
 */
final class SecondsRate {
    private static final int SLOTS = 4;
    private static final long NANOS = 1_000_000_000L;

    private final AtomicLong[] seconds = new AtomicLong[SLOTS];
    private final LongAdder[] sums = new LongAdder[SLOTS];

    SecondsRate() {
        for (int i = 0; i < SLOTS; i++) {
            seconds[i] = new AtomicLong(Long.MIN_VALUE);
            sums[i] = new LongAdder();
        }
    }

    void add(long amount, long nanoTime) {
        long second = Math.floorDiv(nanoTime, NANOS);
        int slot = Math.floorMod(second, SLOTS);
        long known = seconds[slot].get();
        if (known != second && seconds[slot].compareAndSet(known, second)) {
            sums[slot].reset();
        }
        sums[slot].add(amount);
    }

    /** Returns the sum of the second before the one of {@code nanoTime}. */
    long lastSecond(long nanoTime) {
        long second = Math.floorDiv(nanoTime, NANOS) - 1;
        int slot = Math.floorMod(second, SLOTS);
        return seconds[slot].get() == second ? sums[slot].sum() : 0;
    }

    void reset() {
        for (AtomicLong second : seconds) {
            second.set(Long.MIN_VALUE);
        }
    }
}
