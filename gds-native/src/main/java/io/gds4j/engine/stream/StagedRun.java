package io.gds4j.engine.stream;

import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Serves one operation whose stream copies itself: the thread here moves bytes between slabs and the file, and tells the stream what
 * to copy, part by part. It asks nothing of the CUDA driver but whether events have come, so that it gets on whatever the
 * program's calls wait for; and it waits for nothing while it holds the first unit of a slab but for the stream's own copy, which stands
 * right behind the word that was set.
 *
 * <p>
 * As many parts as stand in the stream already share a slab, and what is read is read at once for all of them: the stream copies the
 * first while the others are still coming.
 */
final class StagedRun {
    private static final long PAGE_MASK = 4095;

    private static final LongConsumer NOBODY = bytes -> {
    };

    private final ParkedOperation parked;
    private final StreamOperation operation;
    private final Turns turns;
    private final StreamMover mover;
    private final StagingSlabs slabs;
    private final StagingSlabs.Place place;
    private final long partBytes;
    private @Nullable BatchRequest request;

    /** Steps that the stream has not left behind, as far as they were handed over. */
    private final Deque<Step> open = new ArrayDeque<>();

    /** Those of them that are in no window. */
    private final Deque<Step> waiting = new ArrayDeque<>();

    private int taken;

    /** Parts that have had a window. */
    private int placed;

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

        /** Lets the stream pass a step and those before it. From any thread. */
        void release(Step step);

        /** The stream has left a step behind. */
        void leave(Step step);

        RuntimeException failure(int result);
    }

    StagedRun(
            ParkedOperation parked, Turns turns, StreamMover mover, StagingSlabs slabs, StagingSlabs.Place place) {
        this.parked = parked;
        this.operation = parked.operation();
        this.turns = turns;
        this.mover = mover;
        this.slabs = slabs;
        this.place = place;
        this.partBytes = partBytes(operation.largest());
    }

    /** Bytes that each copy of an operation of this size moves at most. */
    static long partBytes(long largest) {
        return largest <= StagingSlabs.PLACE_BYTES ? StagingSlabs.PLACE_BYTES : StagingSlabs.UNIT_BYTES;
    }

    /** Copies that an operation of this size needs. */
    static long copies(long largest) {
        return Math.max(1, Math.ceilDiv(largest, partBytes(largest)));
    }

    /** Whatever happens, the stream goes on, and file and memory are given back. */
    void run() {
        if (!awaitStep()) {
            throw new IllegalStateException("an operation is queued with its first step");
        }
        try {
            begin(open.getFirst());
            if (operation.isWrite()) {
                write();
            } else {
                read();
            }
        } finally {
            goOn();
            operation.end();
        }
    }

    /** Lets the stream pass whatever is left of the operation. */
    private void goOn() {
        do {
            if (!open.isEmpty()) {
                turns.release(open.getLast());
            }
            while (!open.isEmpty()) {
                turns.leave(open.removeFirst());
            }
            waiting.clear();
        } while (awaitStep());
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

    private boolean awaitReached(Step step) {
        int come = turns.await(step.reached());
        if (come != 0) {
            fail(turns.failure(come));
        }
        return come == 0;
    }

    private void fail(RuntimeException cause) {
        result = operation.code(cause);
        ended = true;
    }

    /** The file is read a window ahead of the stream where there is a slab for it. */
    private void read() {
        StagedWindow window = filled(next());
        while (window != null) {
            StagedWindow ahead = filled(ahead());
            for (int part = window.first(); part < window.end(); part++) {
                awaitCopied(window.steps().get(part - window.first()), part, window.end() == parked.copies());
                leave(window, part);
            }
            window = ahead == null ? filled(next()) : ahead;
        }
        if (placed < parked.copies()) {
            operation.settle(result);
        }
    }

    private @Nullable StagedWindow filled(@Nullable StagedWindow window) {
        if (window != null) {
            MemoryRange slab = window.slab();
            long bytes = slab == null ? 0 : move(window, 0, window.steps().size(), slab, window::arrived);
            if (window.end() == parked.copies()) {
                operation.settle(result);
            }
            window.letAllThrough(bytes);
        }
        return window;
    }

    /** The GPU is read a window ahead of the file where there is a slab for it. */
    private void write() {
        StagedWindow window = begun(next());
        while (window != null) {
            StagedWindow ahead = null;
            for (int part = window.first(); part < window.end(); part++) {
                boolean copied = awaitCopied(window.steps().get(part - window.first()), part, false);
                if (copied && part == window.end() - 1) {
                    ahead = begun(ahead());
                }
                MemoryRange slab = window.slab();
                if (slab != null && !ended) {
                    move(window, part - window.first(), 1, slab, NOBODY);
                }
                leave(window, part);
            }
            window = ahead == null ? begun(next()) : ahead;
        }
        awaitStep();
        operation.settle(result);
    }

    private @Nullable StagedWindow begun(@Nullable StagedWindow window) {
        if (window != null) {
            window.letAllThrough(window.slab() == null ? 0 : bound().size() - window.first() * partBytes);
        }
        return window;
    }

    /** The next parts, once there is a step for one; null if there are none. */
    private @Nullable StagedWindow next() {
        if (placed == parked.copies() || !awaitStep()) {
            return null;
        }
        // Before it has come here it may stand behind others, who may want what we would hold.
        awaitReached(waiting.getFirst());
        int wanted = wanted();
        return window(wanted == 0 ? null : acquire(wanted));
    }

    /** The same before the last window is done with, if there are steps and a slab. */
    private @Nullable StagedWindow ahead() {
        int wanted = wanted();
        MemoryRange slab = wanted == 0 ? null : slabs.tryAcquireAhead(wanted);
        return slab == null ? null : window(slab);
    }

    /** How many of the parts that stand in the stream have bytes to move. */
    private int wanted() {
        if (ended || placed == parked.copies()) {
            return 0;
        }
        Step step = poll();
        while (step != null) {
            step = poll();
        }
        long parts = Math.ceilDiv(bound().size() - placed * partBytes, partBytes);
        return Math.clamp(parts, 0, partsWaiting());
    }

    private int partsWaiting() {
        return Math.min(waiting.size(), parked.copies() - placed);
    }

    private StagedWindow window(@Nullable MemoryRange slab) {
        int parts = slab == null ? partsWaiting() : StagingSlabs.parts(slab);
        List<Step> steps = new ArrayList<>(parts);
        for (int i = 0; i < parts; i++) {
            steps.add(waiting.removeFirst());
        }
        StagedWindow window = new StagedWindow(placed, steps, slab, copies(slab), turns::release);
        placed += parts;
        return window;
    }

    private StagedWindow.Copies copies(@Nullable MemoryRange slab) {
        if (slab == null) {
            return StagedWindow.Copies.NONE;
        }
        BatchRequest whole = bound();
        long memory = whole.memory().address() + whole.bufferOffset() + placed * partBytes;
        long staged = slab.address() + (whole.fileOffset() & PAGE_MASK);
        return operation.isWrite()
                ? new StagedWindow.Copies(memory, staged, partBytes)
                : new StagedWindow.Copies(staged, memory, partBytes);
    }

    /**
     * Moves parts between their slab and the file.
     *
     * @param from the first of them, counted within the window
     * @return bytes moved
     */
    private long move(StagedWindow window, int from, int parts, MemoryRange slab, LongConsumer arrived) {
        BatchRequest whole = bound();
        long start = (window.first() + from) * partBytes;
        long bytes = Math.min(parts * partBytes, whole.size() - start);
        long skew = whole.fileOffset() & PAGE_MASK;
        try {
            long done = mover.movePart(
                    new BatchRequest(
                            whole.file(), whole.write(), slab, bytes, whole.fileOffset() + start,
                            skew + from * partBytes, 0),
                    whole.size(),
                    arrived);
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

    private MemoryRange acquire(int parts) {
        return partBytes == StagingSlabs.PLACE_BYTES ? place.slab() : slabs.acquire(parts);
    }

    /** The stream has left a part behind: others may want its unit. */
    private void leave(StagedWindow window, int part) {
        turns.leave(open.removeFirst());
        MemoryRange slab = window.slab();
        if (slab != null && slab != place.slab()) {
            slabs.release(slab, part - window.first());
        }
    }

    /** True once there is a step that is in no window; false if there will be none. */
    private boolean awaitStep() {
        if (waiting.isEmpty() && taken < parked.steps()) {
            note(parked.next());
            if (waiting.isEmpty()) {
                taken = parked.steps();
                fail(operation.brokenOff());
            }
        }
        return !waiting.isEmpty();
    }

    private @Nullable Step poll() {
        return note(taken < parked.steps() ? parked.poll() : null);
    }

    private @Nullable Step note(@Nullable Step step) {
        if (step != null) {
            taken++;
            open.add(step);
            waiting.add(step);
        }
        return step;
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
