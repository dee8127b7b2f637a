package io.gds4j;

import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Checks the copies of a scattered read. */
final class ScatterCheck {
    /** The addresses that a copy fills. */
    private record Target(int number, long start, long end, ScatterCopy copy) {
        boolean isDense() {
            return copy.rows() == 1 || copy.destinationPitch() == copy.width();
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
        List<Target> targets = new ArrayList<>(copies.size());
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            long base = copy.destination().range().address();
            targets.add(new Target(i, base + copy.destinationOffset(), base + copy.destinationEnd(), copy));
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

    /** Returns whether the rows of two copies with the same pitch lie side by side. */
    private static boolean interleave(Target before, Target after) {
        long pitch = before.copy.destinationPitch();
        boolean single = after.copy.rows() == 1;
        if (before.isDense() || !single && after.copy.destinationPitch() != pitch) {
            return false;
        }
        long column = (after.start - before.start) % pitch;
        return column >= before.copy.width() && column + after.copy.width() <= pitch;
    }

    private static CuFileException overlap(RequestCheck request, Target one, Target other) {
        return request.invalid("the destinations of copies %s and %s overlap"
                .formatted(Math.min(one.number, other.number), Math.max(one.number, other.number)));
    }
}
