package io.gds4j;

import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/** Checks the copies of a scattered read or write. */
final class ScatterCheck {
    /**
     * What a copy fills: addresses of a read, offsets in the file range of a write.
     *
     * @param number of the copy in its list
     * @param pitch distance of two rows
     */
    private record Target(int number, long start, long end, long pitch, ScatterCopy copy) {
        static Target of(boolean write, int number, ScatterCopy copy) {
            if (write) {
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

    private ScatterCheck() {
    }

    /** Returns the copies with ranges in place of allocations. */
    static List<ScatterCopy> check(RequestCheck request, List<ScatterCopy> copies) {
        request.checkNumbers();
        if (copies.isEmpty()) {
            throw request.invalid("there are no copies");
        }
        List<ScatterCopy> checked = new ArrayList<>(copies.size());
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            if (copy.sourceEnd() > request.size()) {
                throw request.invalid("copy %s ends at %s of %s bytes of the file range"
                        .formatted(i, copy.sourceEnd(), request.size()));
            }
            IoMemory plain = MemoryUse.plain(copy.destination());
            request.checkAccess(plain);
            checked.add(plain == copy.destination() ? copy : with(copy, plain, copy.destinationOffset()));
        }
        checkDisjoint(request, checked);
        if (request.write()) {
            checkWhole(request, checked);
        }
        return checked;
    }

    /** Returns the copies with the memory that a backend gets: for windows, the whole registered buffer. */
    static List<ScatterCopy> ranges(List<ScatterCopy> copies) {
        List<ScatterCopy> ranges = new ArrayList<>(copies.size());
        for (ScatterCopy copy : copies) {
            if (copy.destination() instanceof MemoryRange) {
                ranges.add(copy);
            } else {
                long start = MemoryUse.start(copy.destination()) + copy.destinationOffset();
                ranges.add(with(copy, MemoryUse.base(copy.destination()), start));
            }
        }
        return ranges;
    }

    private static ScatterCopy with(ScatterCopy copy, IoMemory memory, long offset) {
        return new ScatterCopy(
                copy.sourceOffset(),
                copy.sourcePitch(),
                copy.width(),
                copy.rows(),
                memory,
                offset,
                copy.destinationPitch());
    }

    private static void checkDisjoint(RequestCheck request, List<ScatterCopy> copies) {
        if (areSingleRowsDisjoint(request.write(), copies)) {
            return;
        }
        List<Target> targets = new ArrayList<>(copies.size());
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            targets.add(Target.of(request.write(), i, copy));
        }
        targets.sort(Comparator.comparingLong(Target::start));
        List<Target> open = new ArrayList<>();
        for (Target target : targets) {
            open.removeIf(before -> before.end <= target.start);
            for (Target before : open) {
                if (!interleave(before, target)) {
                    throw overlap(request, before, target);
                }
            }
            open.add(target);
        }
    }

    /**
     * Returns whether all copies are single rows that do not overlap. Makes no object for each of many fragments: where no two overlap, each
     * one ends before the next one starts, and so do their ends and starts in order.
     */
    private static boolean areSingleRowsDisjoint(boolean write, List<ScatterCopy> copies) {
        long[] starts = new long[copies.size()];
        long[] ends = new long[copies.size()];
        for (int i = 0; i < starts.length; i++) {
            ScatterCopy copy = copies.get(i);
            if (copy.rows() > 1) {
                return false;
            }
            starts[i] = write
                    ? copy.sourceOffset()
                    : copy.destination().range().address() + copy.destinationOffset();
            ends[i] = starts[i] + copy.width();
        }
        Arrays.sort(starts);
        Arrays.sort(ends);
        for (int i = 1; i < starts.length; i++) {
            if (ends[i - 1] > starts[i]) {
                return false;
            }
        }
        return true;
    }

    /** Checks that copies which do not overlap leave no byte of the range out. */
    private static void checkWhole(RequestCheck request, List<ScatterCopy> copies) {
        long bytes = 0;
        for (ScatterCopy copy : copies) {
            bytes += copy.bytes();
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
                request.write() ? "the parts of the file" : "the destinations",
                Math.min(one.number, other.number),
                Math.max(one.number, other.number)));
    }
}
