package io.gds4j;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** The memory that the ranges of a call fill, which must not overlap: addresses, and places in Java arrays. */
final class RangeTargets {
    private RangeTargets() {
    }

    /** Bytes that a range fills, by address or by place in an array. */
    private record Target(long start, long end, int range) {
    }

    /** Refuses ranges that fill a byte twice. */
    static void checkDisjoint(List<RangeRead> ranges, List<RequestCheck> checks) {
        List<Target> targets = new ArrayList<>();
        Map<Object, List<Target>> arrays = new IdentityHashMap<>();
        for (int i = 0; i < ranges.size(); i++) {
            RangeRead range = ranges.get(i);
            for (int j = 0; j < range.fragments().size(); j++) {
                long start = range.fragments().get(j).range().address() + range.bufferOffset();
                if (range.taken(j) > 0) {
                    targets.add(new Target(start, start + range.taken(j), i));
                }
            }
            MemorySegment heap = range.heap();
            if (heap != null && range.size() > 0) {
                arrays.computeIfAbsent(heap.heapBase().orElseThrow(), _ -> new ArrayList<>())
                        .add(new Target(heap.address(), heap.address() + range.size(), i));
            }
        }
        check(targets, checks);
        arrays.values().forEach(array -> check(array, checks));
    }

    private static void check(List<Target> targets, List<RequestCheck> checks) {
        targets.sort(Comparator.comparingLong(Target::start));
        for (int i = 1; i < targets.size(); i++) {
            Target before = targets.get(i - 1);
            Target after = targets.get(i);
            if (before.end > after.start) {
                throw checks.get(after.range).invalid("the destinations of ranges %s and %s overlap".formatted(
                        Math.min(before.range, after.range), Math.max(before.range, after.range)));
            }
        }
    }
}
