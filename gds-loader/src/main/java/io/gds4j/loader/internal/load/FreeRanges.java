package io.gds4j.loader.internal.load;

import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/** The free parts of a memory, of which the first that is long enough is taken. Not thread-safe. */
final class FreeRanges {
    /** Lengths by offsets; no two ranges touch. */
    private final TreeMap<Long, Long> lengths = new TreeMap<>();

    /** Takes bytes from the first range that has as many, and returns their offset; empty if there is none. */
    OptionalLong take(long bytes) {
        for (Map.Entry<Long, Long> range : lengths.entrySet()) {
            long offset = range.getKey();
            // before the removal, which may give the entry of the map to another range
            long length = range.getValue();
            if (length >= bytes) {
                lengths.remove(offset);
                if (length > bytes) {
                    lengths.put(offset + bytes, length - bytes);
                }
                return OptionalLong.of(offset);
            }
        }
        return OptionalLong.empty();
    }

    /** Returns the bytes of the longest range. */
    long longest() {
        return lengths.values().stream().mapToLong(Long::longValue).max().orElse(0);
    }

    /** Gives bytes back that were taken, or the first ones. */
    void give(long offset, long bytes) {
        long begin = offset;
        long end = offset + bytes;
        Map.Entry<Long, Long> before = lengths.floorEntry(begin);
        if (before != null && before.getKey() + before.getValue() == begin) {
            begin = before.getKey();
        }
        Long after = lengths.remove(end);
        lengths.put(begin, end + (after == null ? 0 : after) - begin);
    }
}
