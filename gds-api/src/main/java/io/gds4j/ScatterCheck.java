package io.gds4j;

import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.ScatterCopy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The copies of a scattered read or write: the program's list, copied and checked. Reused from request to request, so that a request
 * allocates nothing for each of many fragments. Used by one request at a time.
 */
final class ScatterCheck {
    private final List<ScatterCopy> copies = new ArrayList<>();
    private long[] starts = {};
    private long[] ends = {};

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
        if (request.write()) {
            checkWhole(request);
        }
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
        if (areSingleRowsDisjoint(request.write())) {
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
    private boolean areSingleRowsDisjoint(boolean write) {
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
            starts[i] = write
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
                request.write() ? "the parts of the file" : "the destinations",
                Math.min(one.number, other.number),
                Math.max(one.number, other.number)));
    }
}
