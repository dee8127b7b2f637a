package io.gds4j.engine.stream;

import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Serves one operation whose stream itself copies: a write, or a read for which the stream's own slab is large enough. This thread moves
 * bytes between slabs and the file, and tells the stream what to copy, part by part. It asks the CUDA driver for nothing but events, so
 * that it makes progress whatever the program's calls wait for. While it holds the first unit of a slab, it waits only for the stream's own
 * copy, which is right behind the word that was set.
 *
 * <p>
 * Parts that are in the stream already share a slab: the stream copies one window while the one before it is written.
 */
final class StagedStreamCopy {
    static final long PAGE_MASK = 4095;

    private static final PieceListener UNHEARD = (at, bytes) -> {
    };

    private final ParkedOperation parked;
    private final StreamOperation operation;
    private final StreamTurns turns;
    private final StreamMover mover;
    private final StagingSlabs slabs;
    private final StagingSlabs.Place place;
    private final long partBytes;
    private @Nullable BatchRequest request;

    /** Steps that were handed over and that the stream has not passed. */
    private final Deque<Step> open = new ArrayDeque<>();

    /** The open steps that are in no window. */
    private final Deque<Step> waiting = new ArrayDeque<>();

    private int taken;

    /** Parts that were assigned to a window. */
    private int placed;

    /** Contiguous bytes moved between slabs and file. */
    private long moved;

    /** The value for the result cell. */
    private long result;

    /** True once no more bytes are moved. */
    private boolean ended;

    StagedStreamCopy(
            ParkedOperation parked, StreamTurns turns, StreamMover mover, StagingSlabs slabs,
            StagingSlabs.Place place) {
        this.parked = parked;
        this.operation = parked.operation();
        this.turns = turns;
        this.mover = mover;
        this.slabs = slabs;
        this.place = place;
        this.partBytes = partBytes(operation.largest());
    }

    /** Returns the most bytes that one copy of an operation of this size moves. */
    static long partBytes(long largest) {
        return largest <= StagingSlabs.PLACE_BYTES ? StagingSlabs.PLACE_BYTES : StagingSlabs.UNIT_BYTES;
    }

    /** Returns the number of copies of an operation of this size. */
    static long copies(long largest) {
        return Math.max(1, Math.ceilDiv(largest, partBytes(largest)));
    }

    /** Serves the operation. Whatever happens, the stream passes, and file and memory are released. */
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

    /** Lets the stream pass the rest of the operation. */
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

    private void read() {
        StagedWindow window = next();
        if (window == null) {
            operation.settle(result);
            return;
        }
        MemoryRange slab = window.slab();
        long bytes = slab == null ? 0 : move(window, 0, slab);
        operation.settle(result);
        window.letThrough(bytes);
        awaitCopied(window.steps().getFirst(), 0, true);
        leave(window, 0);
    }

    /** Lets the stream copy one window ahead of the file if a slab is free. */
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
                    move(window, part - window.first(), slab);
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
            window.letThrough(window.slab() == null ? 0 : bound().size() - window.first() * partBytes);
        }
        return window;
    }

    /** Waits for a step and returns the next window; null if no part is left. */
    private @Nullable StagedWindow next() {
        if (placed == parked.copies() || !awaitStep()) {
            return null;
        }
        // Until the stream is here it may wait behind other streams, which may need the units that we would hold.
        awaitReached(waiting.getFirst());
        int wanted = wanted();
        return window(wanted == 0 ? null : acquire(wanted));
    }

    /** Returns the next window while the last one is in use, if there are steps and a slab for it. */
    private @Nullable StagedWindow ahead() {
        int wanted = wanted();
        MemoryRange slab = wanted == 0 ? null : slabs.tryAcquireAhead(1, wanted);
        return slab == null ? null : window(slab);
    }

    /** Returns the number of parts in the stream that have bytes to move. */
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
     * Moves a part between its slab and the file.
     *
     * @param part counted within the window
     * @return bytes moved
     */
    private long move(StagedWindow window, int part, MemoryRange slab) {
        BatchRequest whole = bound();
        long start = (window.first() + part) * partBytes;
        long bytes = Math.min(partBytes, whole.size() - start);
        long skew = whole.fileOffset() & PAGE_MASK;
        try {
            long done = mover.movePart(
                    new BatchRequest(
                            whole.file(), whole.write(), slab, bytes, whole.fileOffset() + start,
                            skew + part * partBytes, 0),
                    whole.size(),
                    UNHEARD);
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
        return partBytes == StagingSlabs.PLACE_BYTES ? place.slab() : slabs.acquire(1, parts);
    }

    /** The stream has passed a part: other operations may use its unit. */
    private void leave(StagedWindow window, int part) {
        turns.leave(open.removeFirst());
        MemoryRange slab = window.slab();
        if (slab != null && slab != place.slab()) {
            slabs.release(slab, part - window.first());
        }
    }

    /** Waits for a step that is in no window. Returns false if none follows. */
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
     * @param told true if the result cell is set already
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
