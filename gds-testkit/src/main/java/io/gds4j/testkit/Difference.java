package io.gds4j.testkit;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Describes the difference of two byte sequences. */
final class Difference {
    private static final int SHOWN = 8;

    private Difference() {
    }

    /** Returns the index of the first difference, or -1. */
    static long first(MemorySegment expected, MemorySegment actual) {
        return expected.mismatch(actual);
    }

    /** Describes both sides from {@code at} on, the number of differing bytes, and the position of the last one. */
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
        return "expected [%s] but found [%s]; %s bytes differ, the last one %s bytes on"
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
