package io.gds4j.dataset.source;

import java.util.Arrays;

/** Numbers that are added one by one. */
final class Longs {
    /** Most numbers that an array holds. */
    static final int MAX = Integer.MAX_VALUE - 16;

    private static final int FIRST = 64;

    private long[] values = new long[FIRST];
    private int size;

    void add(long value) {
        if (size == values.length) {
            values = Arrays.copyOf(values, (int) Math.min(MAX, size + (long) size / 2));
        }
        values[size] = value;
        size++;
    }

    int size() {
        return size;
    }

    /** Returns the numbers; no more are added. */
    long[] toArray() {
        return Arrays.copyOf(values, size);
    }
}
