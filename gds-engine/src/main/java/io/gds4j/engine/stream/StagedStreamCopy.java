package io.gds4j.engine.stream;

import io.gds4j.engine.stream.StreamMover.PieceListener;
import io.gds4j.internal.file.Pages;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Serves one operation whose stream itself copies: a write, or a read for which the stream's own slab is large enough. This thread moves
 * bytes between slabs and the file, and tells the stream what to copy. It asks the CUDA driver for nothing but events, so that it makes
 * progress whatever the program's calls wait for. While it holds the first unit of a slab, it waits only for the stream's own copy, which
 * is right behind the word that was set.
 *
 * <p>
 * A long write moves in parts, of which one kernel in the stream copies each. Parts that share a slab are a window: the stream copies one
 * window while the one before it is written.
 */
final class StagedStreamCopy {

    /** Bytes of a part of a long write. */
    static final long PART_BYTES = StagingSlabs.UNIT_BYTES;

    /** Number of pieces for which the kernel of a long write has blocks: files take bytes more slowly than few blocks bring them. */
    static final int WRITTEN_AT_ONCE = 8;

    /** Hears of no piece. */
    static final PieceListener UNHEARD = (at, bytes) -> {
    };

    private final ParkedOperation parked;
    private final StreamOperation operation;
    private final StreamTurns turns;
    private final StreamMover mover;
    private final StagingSlabs slabs;
    private final StagingSlabs.Place place;
    private @Nullable BatchRequest request;

    /** Parts that were assigned to a window. */
    private int placed;

    /** Contiguous bytes moved between slabs and file. */
    private long moved;

    /** The value for the result cell. */
    private long result;

    /** True once no more bytes are moved. */
    private boolean ended;

    /**
     * Consecutive parts of a write whose bytes are contiguous in one slab.
     *
     * @param first number of the first part
     * @param copies the copies of each part
     */
    private record Window(int first, MemoryRange slab, List<ToldCopies.Places> copies) {
    }

    StagedStreamCopy(
            ParkedOperation parked, StreamTurns turns, StreamMover mover, StagingSlabs slabs,
            StagingSlabs.Place place) {
        this.parked = parked;
        this.operation = parked.operation();
        this.turns = turns;
        this.mover = mover;
        this.slabs = slabs;
        this.place = place;
    }

    /** Serves the operation. Whatever happens, the stream passes, and file and memory are released. */
    void run() {
        Step first = parked.first();
        try {
            if (parked.isTold()) {
                writeParts(first);
            } else if (operation.isWrite()) {
                write(first);
            } else {
                read(first);
            }
        } finally {
            if (operation.isWrite()) {
                endWrite();
            }
            operation.end();
        }
    }

    /** Sets the result and lets the stream pass: the file has the bytes. */
    private void endWrite() {
        Step last = parked.next();
        if (last == null) {
            fail(operation.brokenOff());
        }
        operation.settle(result);
        if (last != null) {
            turns.release(last);
            turns.leave(last);
        }
    }

    private void begin(Step first) {
        int come = turns.await(first.reached());
        if (come != 0) {
            fail(turns.failure(come));
            return;
        }
        try {
            BatchRequest bound = operation.bindStaged();
            request = bound;
            ended = bound.size() == 0;
        } catch (RuntimeException e) {
            fail(e);
        }
    }

    private void fail(RuntimeException cause) {
        result = operation.code(cause);
        ended = true;
    }

    private void read(Step step) {
        try {
            begin(step);
            long bytes = ended ? 0 : move(place.slab(), 0, 0, bound().size());
            operation.settle(result);
            if (bytes > 0) {
                copy(step, staged(place.slab()), memory(0), bytes);
            }
        } finally {
            turns.release(step);
        }
        RuntimeException failure = leave(step);
        if (failure != null) {
            operation.failBehindResult(failure);
        }
    }

    private void write(Step step) {
        try {
            begin(step);
            if (!ended) {
                copy(step, memory(0), staged(place.slab()), bound().size());
            }
        } finally {
            turns.release(step);
        }
        RuntimeException failure = leave(step);
        if (failure != null) {
            fail(failure);
        } else if (!ended) {
            move(place.slab(), 0, 0, bound().size());
        }
    }

    private static void copy(Step step, long source, long target, long bytes) {
        if (!(step.copy() instanceof StreamCopy.Cell copy)) {
            throw new IllegalStateException("a step of another operation");
        }
        copy.cell().set(source, target, bytes);
    }

    /** Waits for the stream's own copy, and leaves its step. Returns the reason if it did not copy. */
    private @Nullable RuntimeException leave(Step step) {
        RuntimeException failure = operation.brokenOff();
        if (parked.awaitComplete(1)) {
            int come = turns.awaitCopy(step.copied());
            failure = come == 0 ? null : turns.failure(come);
        }
        turns.leave(step);
        return failure;
    }

    /** Lets the stream copy one window ahead of the file if a slab is free. */
    private void writeParts(Step step) {
        ToldCopies copies = new ToldCopies(parked, step, turns);
        try {
            begin(step);
            copies.awaitFirst();
            Window window = next(copies);
            while (window != null) {
                Window ahead = null;
                int parts = window.copies().size();
                for (int part = 0; part < parts; part++) {
                    RuntimeException failure = window.copies().get(part).awaitCopied();
                    if (failure != null) {
                        fail(failure);
                    } else if (part == parts - 1) {
                        ahead = ahead(copies);
                    }
                    if (!ended) {
                        long start = (window.first() + part) * PART_BYTES;
                        move(window.slab(), part, start, Math.min(PART_BYTES, bound().size() - start));
                    }
                    slabs.release(window.slab(), part);
                }
                window = ahead == null ? next(copies) : ahead;
            }
        } finally {
            copies.awaitFirst();
            copies.end();
            RuntimeException failure = copies.leave();
            if (failure != null) {
                fail(failure);
            }
        }
    }

    /** Waits for a slab and returns the next window; null if no part is left. */
    private @Nullable Window next(ToldCopies copies) {
        int wanted = wanted();
        return wanted == 0 ? null : window(copies, slabs.acquire(1, wanted));
    }

    /** Returns the next window while the last one is in use, if there is a slab for it. */
    private @Nullable Window ahead(ToldCopies copies) {
        int wanted = wanted();
        MemoryRange slab = wanted == 0 ? null : slabs.tryAcquireAhead(1, wanted);
        return slab == null ? null : window(copies, slab);
    }

    /** Returns the number of parts that have bytes to move. */
    private int wanted() {
        return ended ? 0 : (int) Math.min(Integer.MAX_VALUE, Math.ceilDiv(bound().size(), PART_BYTES) - placed);
    }

    private Window window(ToldCopies copies, MemoryRange slab) {
        int parts = StagingSlabs.parts(slab);
        List<ToldCopies.Places> told = new ArrayList<>(parts);
        for (int part = 0; part < parts; part++) {
            long start = (placed + part) * PART_BYTES;
            ToldCopies.Places places = copies.places();
            long target = staged(slab) + part * PART_BYTES;
            RequestParts.forEach(bound(), start, Math.min(PART_BYTES, bound().size() - start),
                    (memory, address, offset, length) -> places.tell(address, target + offset, length));
            told.add(places);
        }
        Window window = new Window(placed, slab, told);
        placed += parts;
        return window;
    }

    private long memory(long start) {
        return bound().memory().address() + bound().bufferOffset() + start;
    }

    private long staged(MemoryRange slab) {
        return slab.address() + Pages.offset(bound().fileOffset());
    }

    /**
     * Moves a part between its slab and the file.
     *
     * @param part counted within the slab
     * @param start of the part in the operation
     * @return bytes moved
     */
    private long move(MemoryRange slab, int part, long start, long bytes) {
        BatchRequest whole = bound();
        long skew = Pages.offset(whole.fileOffset());
        try {
            long done = mover.movePart(
                    whole.staged(slab, start, bytes, skew + part * PART_BYTES),
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
}
