package io.gds4j.testkit;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Where two runs of bytes differ, in words. */
final class Difference {
    private static final int SHOWN = 8;

    private Difference() {
    }

    /** Index of the first difference, or -1. */
    static long first(MemorySegment expected, MemorySegment actual) {
        return expected.mismatch(actual);
    }

    /** The first bytes on both sides from {@code at} on, how many bytes differ in all, and where the last one is. */
    static String describe(MemorySegment expected, MemorySegment actual, long at) {
        long shared = Math.min(expected.byteSize(), actual.byteSize());
        long count = 0;
        long last = at;
        for (long i = at; i < shared; i++) {
            if (expected.get(ValueLayout.JAVA_BYTE, i) != actual.get(ValueLayout.JAVA_BYTE, i)) {
                count++;
                last = i;
            }
        }
        return "expected [%s] but found [%s]; %d bytes differ, the last one %d bytes on"
                .formatted(hex(expected, at), hex(actual, at), count, last - at);
    }

    private static String hex(MemorySegment bytes, long from) {
        StringBuilder text = new StringBuilder();
        long to = Math.min(bytes.byteSize(), from + SHOWN);
        for (long i = from; i < to; i++) {
            text.append(i == from ? "" : " ").append("%02x".formatted(bytes.get(ValueLayout.JAVA_BYTE, i)));
        }
        return text.toString();
    }
}
