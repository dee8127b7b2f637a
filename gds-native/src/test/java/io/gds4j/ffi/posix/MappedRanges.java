package io.gds4j.ffi.posix;

import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/** Address ranges that are mapped: any part of any of them may be unmapped, as {@code munmap} allows. */
final class MappedRanges {
    /** Start to end, disjoint. */
    private final NavigableMap<Long, Long> ranges = new TreeMap<>();

    synchronized void add(long start, long length) {
        remove(start, length);
        ranges.put(start, start + length);
    }

    synchronized void remove(long start, long length) {
        long end = start + length;
        Map.Entry<Long, Long> before = ranges.lowerEntry(start);
        if (before != null && before.getValue() > start) {
            ranges.put(before.getKey(), start);
            if (before.getValue() > end) {
                ranges.put(end, before.getValue());
            }
        }
        NavigableMap<Long, Long> within = ranges.subMap(start, true, end, false);
        long last = within.isEmpty() ? end : within.lastEntry().getValue();
        within.clear();
        if (last > end) {
            ranges.put(end, last);
        }
    }

    synchronized int count() {
        return ranges.size();
    }

    synchronized long bytes() {
        return ranges.entrySet().stream().mapToLong(range -> range.getValue() - range.getKey()).sum();
    }
}
