package io.gds4j.engine.stream;

import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Serves a write, or a read that one slab of its stream holds. While it holds the first unit of a slab, it waits only for the stream's
 * own copy, which is right behind the word that was set.
 *
 * <p>
 * Parts that are in the stream already share a slab: the stream copies one window while the one before it is written.
 */
final class StagedStreamCopy extends StagedOperation {
    private final StreamMover mover;
    private final StagingSlabs slabs;
    private final StagingSlabs.Place place;
    private final long partBytes;

    /** Parts that were assigned to a window. */
    private int placed;

    StagedStreamCopy(
            ParkedOperation parked, Turns turns, StreamMover mover, StagingSlabs slabs, StagingSlabs.Place place) {
        super(parked, turns);
        this.mover = mover;
        this.slabs = slabs;
        this.place = place;
        this.partBytes = partBytes(operation().largest());
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
        try {
            if (awaitReached(first())) {
                bind();
            }
            if (operation().isWrite()) {
                write();
            } else {
                read();
            }
        } finally {
            goOn();
            operation().end();
        }
    }

    private void read() {
        StagedWindow window = next();
        if (window != null) {
            MemoryRange slab = window.slab();
            long bytes = slab == null ? 0 : move(window, 0, slab);
            settle();
            window.letThrough(bytes);
            awaitCopied(window.steps().getFirst(), 0, true);
            leave(window, 0);
        } else {
            settle();
        }
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
                if (slab != null && !hasEnded()) {
                    move(window, part - window.first(), slab);
                }
                leave(window, part);
            }
            window = ahead == null ? begun(next()) : ahead;
        }
        awaitStep();
        settle();
    }

    private @Nullable StagedWindow begun(@Nullable StagedWindow window) {
        if (window != null) {
            window.letThrough(window.slab() == null ? 0 : bound().size() - window.first() * partBytes);
        }
        return window;
    }

    /** Waits for a step and returns the next window; null if no part is left. */
    private @Nullable StagedWindow next() {
        if (placed == parked().copies() || !awaitStep()) {
            return null;
        }
        // Until the stream is here it may wait behind other streams, which may need the units that we would hold.
        awaitReached(firstWaiting());
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
        if (hasEnded() || placed == parked().copies()) {
            return 0;
        }
        long parts = Math.ceilDiv(bound().size() - placed * partBytes, partBytes);
        return Math.clamp(parts, 0, partsWaiting());
    }

    private int partsWaiting() {
        return Math.min(stepsWaiting(), parked().copies() - placed);
    }

    private StagedWindow window(@Nullable MemoryRange slab) {
        int parts = slab == null ? partsWaiting() : StagingSlabs.parts(slab);
        List<Step> steps = new ArrayList<>(parts);
        for (int i = 0; i < parts; i++) {
            steps.add(takeStep());
        }
        StagedWindow window = new StagedWindow(placed, steps, slab, copies(slab), turns()::release);
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
        return operation().isWrite()
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
                    (at, arrived) -> {
                    });
            moved(done, bytes);
            return done;
        } catch (RuntimeException e) {
            fail(e);
            return 0;
        }
    }

    private MemoryRange acquire(int parts) {
        return partBytes == StagingSlabs.PLACE_BYTES ? place.slab() : slabs.acquire(1, parts);
    }

    /** The stream has passed a part: other operations may use its unit. */
    private void leave(StagedWindow window, int part) {
        leaveFirst();
        MemoryRange slab = window.slab();
        if (slab != null && slab != place.slab()) {
            slabs.release(slab, part - window.first());
        }
    }
}
