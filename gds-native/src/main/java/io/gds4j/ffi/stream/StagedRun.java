package io.gds4j.ffi.stream;

import io.gds4j.ffi.cuda.CopyCell;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Serves one operation whose stream copies itself: the thread here moves bytes between slabs and the file, part by part, and tells
 * the stream what to copy. It asks nothing of the CUDA driver but whether events have come, so that it gets on whatever the
 * program's calls wait for; and it waits for nothing while it holds a shared slab but for the stream's own copy, which stands right
 * behind the word that was set.
 *
 * @param <L> what it works with
 */
final class StagedRun<L> {
    private static final long PAGE_MASK = 4095;

    private final ParkedOperation<L> parked;
    private final StreamOperation<L> operation;
    private final Turns turns;
    private final L lane;
    private final StagingSlabs slabs;
    private final StagingSlabs.Place place;
    private final long partBytes;
    private @Nullable BatchRequest request;
    private int taken;
    private @Nullable Step newest;

    /** Bytes moved between slabs and file, one behind the other. */
    private long moved;

    /** What the program is told. */
    private long result;

    /** No more bytes are moved. */
    private boolean ended;

    /** The stream, as its operations see it. */
    interface Turns {
        /** Waits for an event; a {@code CUresult}. */
        int await(long event);

        /** The same for a copy that is under way. */
        int awaitCopy(long event);

        boolean hasCome(long event);

        /** Lets the stream pass a step. */
        void release(Step step);

        /** The stream has left a step behind. */
        void leave(Step step);

        RuntimeException failure(int result);
    }

    /** Bytes on their way from the file to the GPU. */
    private record Filled(MemoryRange slab, long from, long bytes) {
    }

    StagedRun(
            ParkedOperation<L> parked, Turns turns, L lane, StagingSlabs slabs, StagingSlabs.Place place) {
        this.parked = parked;
        this.operation = parked.operation();
        this.turns = turns;
        this.lane = lane;
        this.slabs = slabs;
        this.place = place;
        this.partBytes = partBytes(operation.largest());
    }

    /** Bytes that each copy of an operation of this size moves at most. */
    static long partBytes(long largest) {
        return largest <= StagingSlabs.PLACE_BYTES ? StagingSlabs.PLACE_BYTES : StagingSlabs.SLAB_BYTES;
    }

    /** Copies that an operation of this size needs. */
    static long copies(long largest) {
        return Math.max(1, Math.ceilDiv(largest, partBytes(largest)));
    }

    /** Whatever happens, the stream goes on, and file and memory are given back. */
    void run() {
        Step first = Objects.requireNonNull(next(), "an operation is queued with its first step");
        try {
            begin(first);
            if (operation.isWrite()) {
                write(first);
            } else {
                read(first);
            }
        } finally {
            turns.release(Objects.requireNonNull(newest));
            for (Step left = next(); left != null; left = next()) {
                turns.release(left);
                turns.leave(left);
            }
            operation.end();
        }
    }

    private void begin(Step first) {
        if (awaitReached(first)) {
            try {
                BatchRequest bound = operation.bindStaged();
                request = bound;
                ended = bound.size() == 0;
            } catch (RuntimeException e) {
                fail(e);
            }
        }
    }

    private void fail(RuntimeException cause) {
        result = operation.code(cause);
        ended = true;
    }

    /** The file is read a part ahead of the stream where there is a slab for it. */
    private void read(Step first) {
        Step step = first;
        Filled ahead = null;
        int part = 0;
        while (step != null) {
            Filled filled = ahead != null || ended ? ahead : fill(part, acquire());
            ahead = null;
            if (filled != null) {
                cell(step).set(filled.from(), target(part), filled.bytes());
            }
            boolean last = part == parked.copies() - 1;
            if (last) {
                operation.settle(result);
            }
            turns.release(step);
            if (!last && !ended) {
                MemoryRange second = slabs.tryAcquireAhead();
                ahead = second == null ? null : fill(part + 1, second);
            }
            awaitCopied(step, part, last);
            giveBack(filled);
            turns.leave(step);
            step = awaitNext();
            part++;
        }
        giveBack(ahead);
        if (part < parked.copies()) {
            operation.settle(result);
        }
    }

    private @Nullable Filled fill(int part, MemoryRange slab) {
        long skew = bound().fileOffset() & PAGE_MASK;
        long bytes = move(part, slab);
        return new Filled(slab, slab.address() + skew, bytes);
    }

    /** The GPU is read a part ahead of the file where there is a slab for it. */
    private void write(Step first) {
        Step step = first;
        MemoryRange slab = null;
        int part = 0;
        while (step != null && part < parked.copies()) {
            if (slab == null) {
                slab = ended ? null : acquire();
                start(step, part, slab);
            }
            boolean copied = awaitCopied(step, part, false);
            Step following = null;
            MemoryRange second = null;
            if (slab != null && copied && !ended) {
                following = pollNext();
                second = following == null ? null : startAhead(following, part + 1);
                move(part, slab);
            }
            giveBack(slab);
            turns.leave(step);
            step = following == null ? awaitNext() : awaited(following);
            slab = second;
            part++;
        }
        operation.settle(result);
        if (step != null) {
            turns.release(step);
            turns.leave(step);
        }
    }

    private void start(Step step, int part, @Nullable MemoryRange slab) {
        if (slab != null) {
            long start = part * partBytes;
            long bytes = Math.min(partBytes, bound().size() - start);
            cell(step).set(target(part), slab.address() + (bound().fileOffset() & PAGE_MASK), bytes);
        }
        turns.release(step);
    }

    private @Nullable MemoryRange startAhead(Step step, int part) {
        boolean more = part < parked.copies() && part * partBytes < bound().size();
        MemoryRange slab = more && turns.hasCome(step.reached()) ? slabs.tryAcquireAhead() : null;
        if (slab != null) {
            start(step, part, slab);
        }
        return slab;
    }

    /** Moves a part between its slab and the file; how many bytes. */
    private long move(int part, MemoryRange slab) {
        BatchRequest whole = bound();
        long start = part * partBytes;
        long bytes = Math.min(partBytes, whole.size() - start);
        try {
            long done = operation.movePart(
                    lane,
                    new BatchRequest(
                            whole.file(), whole.write(), slab, bytes, whole.fileOffset() + start,
                            whole.fileOffset() & PAGE_MASK, 0),
                    whole.size());
            moved += done;
            result = moved;
            ended = done < bytes || moved == whole.size();
            return done;
        } catch (RuntimeException e) {
            fail(e);
            return 0;
        }
    }

    private BatchRequest bound() {
        return Objects.requireNonNull(request, "nothing is moved before all is bound");
    }

    private long target(int part) {
        return bound().memory().address() + bound().bufferOffset() + part * partBytes;
    }

    private static CopyCell cell(Step step) {
        return Objects.requireNonNull(step.cell(), "a step that copies has a cell");
    }

    private MemoryRange acquire() {
        return partBytes == StagingSlabs.PLACE_BYTES ? place.slab() : slabs.acquire();
    }

    private void giveBack(@Nullable Filled filled) {
        if (filled != null) {
            giveBack(filled.slab());
        }
    }

    private void giveBack(@Nullable MemoryRange slab) {
        if (slab != null && slab != place.slab()) {
            slabs.release(slab);
        }
    }

    private @Nullable Step next() {
        return note(taken < parked.steps() ? parked.next() : null);
    }

    private @Nullable Step pollNext() {
        return note(taken < parked.steps() ? parked.poll() : null);
    }

    private @Nullable Step note(@Nullable Step step) {
        if (step != null) {
            taken++;
            newest = step;
        }
        return step;
    }

    private @Nullable Step awaitNext() {
        Step step = next();
        if (step == null && taken < parked.steps()) {
            fail(operation.brokenOff());
        }
        return awaited(step);
    }

    private @Nullable Step awaited(@Nullable Step step) {
        if (step != null) {
            awaitReached(step);
        }
        return step;
    }

    private boolean awaitReached(Step step) {
        int come = turns.await(step.reached());
        if (come != 0) {
            fail(turns.failure(come));
        }
        return come == 0;
    }

    /**
     * Waits for a stream's own copy.
     *
     * @param told the program has its result already
     */
    private boolean awaitCopied(Step step, int part, boolean told) {
        RuntimeException failure = operation.brokenOff();
        if (parked.awaitComplete(part + 1)) {
            int come = turns.awaitCopy(step.copied());
            if (come == 0) {
                return true;
            }
            failure = turns.failure(come);
        }
        if (told) {
            operation.log("a copy of a stream failed", failure);
        } else {
            fail(failure);
        }
        return false;
    }
}
