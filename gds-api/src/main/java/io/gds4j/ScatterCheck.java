package io.gds4j;

import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.Operation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The copies of a scattered read or write: the program's list, copied and checked. Reused from request to request, so that a request
 * allocates nothing for each of many fragments. Used by one request at a time.
 */
final class ScatterCheck {
    private final List<ScatterCopy> copies = new ArrayList<>();
    private long[] starts = {};
    private long[] ends = {};
    private long compared;

    /**
     * What a copy fills: addresses of a read, offsets in the file range of a write.
     *
     * @param number of the copy in its list
     * @param pitch distance of two rows
     */
    private record Target(int number, long start, long end, long pitch, ScatterCopy copy) {
        static Target of(Operation operation, int number, ScatterCopy copy) {
            if (operation.isWrite()) {
                return new Target(number, copy.sourceOffset(), copy.sourceEnd(), copy.sourcePitch(), copy);
            }
            long base = copy.destination().range().address();
            return new Target(
                    number, base + copy.destinationOffset(), base + copy.destinationEnd(), copy.destinationPitch(),
                    copy);
        }

        boolean isDense() {
            return copy.rows() == 1 || pitch == copy.width();
        }
    }

    /**
     * The rows of copies that begin before a place and end behind it. No two overlap, so all have one pitch and each has columns of its own. A
     * further copy overlaps one of them only if it overlaps a neighbour of its columns. A dense copy lies between two rows of all others, and
     * nothing lies between its own.
     */
    private static final class Rows {
        private final NavigableMap<Long, Target> byColumn = new TreeMap<>();
        private final Queue<Target> byEnd = new PriorityQueue<>(Comparator.comparingLong(Target::end));
        private @Nullable Target dense;
        private long origin;
        private long pitch = 1;
        private long compared;

        /** Adds the next copy by start; returns false if it overlaps one. */
        boolean add(Target target) {
            while (!byEnd.isEmpty() && byEnd.element().end <= target.start) {
                byColumn.remove(column(byEnd.remove()));
            }
            if (dense != null && dense.end > target.start || !fits(target)) {
                return false;
            }
            if (target.isDense()) {
                dense = target;
            } else {
                if (byEnd.isEmpty()) {
                    origin = target.start;
                    pitch = target.pitch;
                }
                byColumn.put(column(target), target);
                byEnd.add(target);
            }
            return true;
        }

        private boolean fits(Target target) {
            if (byEnd.isEmpty()) {
                return true;
            }
            long column = column(target);
            Map.Entry<Long, Target> left = byColumn.floorEntry(column);
            Map.Entry<Long, Target> right = byColumn.higherEntry(column);
            compared += 2;
            return interleave((left == null ? byColumn.lastEntry() : left).getValue(), target)
                    && interleave((right == null ? byColumn.firstEntry() : right).getValue(), target);
        }

        private long column(Target target) {
            return (target.start - origin) % pitch;
        }

        /** Returns the first copy by start that overlaps one which {@link #add} refused. */
        Target firstThatOverlaps(List<Target> targets, Target refused) {
            return targets.stream().filter(before -> before.end > refused.start && !interleave(before, refused))
                    .findFirst().orElseThrow();
        }
    }

    /** Copies and checks the copies of a request; {@link #clear} ends it. */
    void check(RequestCheck request, List<ScatterCopy> ofProgram) {
        request.checkNumbers();
        if (ofProgram.isEmpty()) {
            throw request.invalid("there are no copies");
        }
        for (int i = 0; i < ofProgram.size(); i++) {
            ScatterCopy copy = ofProgram.get(i);
            if (copy.sourceEnd() > request.size()) {
                throw request.invalid("copy %s ends at %s of %s bytes of the file range"
                        .formatted(i, copy.sourceEnd(), request.size()));
            }
            request.checkAccess(MemoryUse.plain(copy.destination()));
            copies.add(copy);
        }
        checkDisjoint(request);
        if (request.operation().isWrite()) {
            checkWhole(request);
        }
    }

    /** Returns how many pairs of copies the last check compared: it must not compare each copy with each. */
    long compared() {
        return compared;
    }

    /** Drops the copies. */
    void clear() {
        copies.clear();
    }

    /** Returns the number of copies. */
    int size() {
        return copies.size();
    }

    /** Returns the memory of a copy: of allocations, their ranges. */
    IoMemory memory(int copy) {
        return MemoryUse.plain(copies.get(copy).destination());
    }

    /** Returns the copies with the memory that a backend gets: for windows, the whole registered buffer. Valid until {@link #clear}. */
    List<ScatterCopy> forBackend() {
        for (int i = 0; i < copies.size(); i++) {
            if (copies.get(i).destination() instanceof BufferWindow) {
                return copies.stream().map(ScatterCheck::ofBuffer).toList();
            }
        }
        return copies;
    }

    private static ScatterCopy ofBuffer(ScatterCopy copy) {
        return new ScatterCopy(
                copy.sourceOffset(),
                copy.sourcePitch(),
                copy.width(),
                copy.rows(),
                MemoryUse.base(copy.destination()),
                MemoryUse.start(copy.destination()) + copy.destinationOffset(),
                copy.destinationPitch());
    }

    private void checkDisjoint(RequestCheck request) {
        if (areSingleRowsDisjoint(request.operation())) {
            return;
        }
        List<Target> targets = new ArrayList<>(copies.size());
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            targets.add(Target.of(request.operation(), i, copy));
        }
        targets.sort(Comparator.comparingLong(Target::start));
        Rows open = new Rows();
        for (Target target : targets) {
            if (!open.add(target)) {
                throw overlap(request, open.firstThatOverlaps(targets, target), target);
            }
        }
        compared = open.compared;
    }

    /**
     * Returns whether all copies are single rows that do not overlap. Makes no object for each of many fragments: where no two overlap, each
     * one ends before the next one starts, and so do their ends and starts in order.
     */
    private boolean areSingleRowsDisjoint(Operation operation) {
        int count = copies.size();
        if (starts.length < count) {
            starts = new long[count];
            ends = new long[count];
        }
        for (int i = 0; i < count; i++) {
            ScatterCopy copy = copies.get(i);
            if (copy.rows() > 1) {
                return false;
            }
            starts[i] = operation.isWrite()
                    ? copy.sourceOffset()
                    : copy.destination().range().address() + copy.destinationOffset();
            ends[i] = starts[i] + copy.width();
        }
        Arrays.sort(starts, 0, count);
        Arrays.sort(ends, 0, count);
        for (int i = 1; i < count; i++) {
            if (ends[i - 1] > starts[i]) {
                return false;
            }
        }
        return true;
    }

    /** Checks that copies which do not overlap leave no byte of the range out. */
    private void checkWhole(RequestCheck request) {
        long bytes = 0;
        for (int i = 0; i < copies.size(); i++) {
            bytes += copies.get(i).bytes();
        }
        if (bytes != request.size()) {
            throw request.invalid("the copies hold %s of %s bytes of the file range".formatted(bytes, request.size()));
        }
    }

    /** Returns whether the rows of two copies with the same pitch lie side by side. */
    private static boolean interleave(Target before, Target after) {
        long pitch = before.pitch;
        boolean single = after.copy.rows() == 1;
        if (before.isDense() || !single && after.pitch != pitch) {
            return false;
        }
        long column = (after.start - before.start) % pitch;
        return column >= before.copy.width() && column + after.copy.width() <= pitch;
    }

    private static CuFileException overlap(RequestCheck request, Target one, Target other) {
        return request.invalid("%s of copies %s and %s overlap".formatted(
                request.operation().isWrite() ? "the parts of the file" : "the destinations",
                Math.min(one.number, other.number),
                Math.max(one.number, other.number)));
    }
}
