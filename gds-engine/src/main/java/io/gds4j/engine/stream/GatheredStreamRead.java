package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Serves a read. A kernel in the stream copies the pieces of each part while they arrive in a slab. The next part is read while a
 * part is copied, also if it is the first of the next read: where the GPU can tell that nothing is between the two.
 *
 * <p>
 * While the thread waits for slabs, it holds none. While it holds some, it waits only for the file and for the stream's own copies.
 */
final class GatheredStreamRead extends StagedOperation {
    /** Bytes of a part. A copy of 4 MiB takes 80 microseconds, and beginning the next one 6. */
    static final long PART_BYTES = 4 * StagingSlabs.UNIT_BYTES;

    /** Smallest piece in bytes that a kernel has blocks for. */
    private static final long SMALLEST_PIECE = 64 << 10;

    /** Largest piece in bytes: as large as those that several threads read. */
    private static final long LARGEST_PIECE = 256 << 10;

    private final StreamMover mover;
    private final StagingSlabs slabs;
    private final Runnable over;

    /** The read before this one, whose last part may be in flight; null once it is over. */
    private @Nullable GatheredStreamRead earlier;

    /** The part in flight; null if there is none. */
    private @Nullable Part last;

    private int placed;
    private boolean isOver;

    /** A part all of whose pieces were told. */
    private record Part(int number, Step step, @Nullable MemoryRange slab, Told told) {
    }

    /** What the kernel of a part was told. */
    private final class Told implements PieceListener {
        private final Step step;
        private final StreamCopy.Pieces copy;
        private final long source;
        private final long target;
        private final AtomicInteger places = new AtomicInteger();

        Told(Step step, long source, long target) {
            this.step = step;
            this.copy = pieces(step);
            this.source = source;
            this.target = target;
        }

        @Override
        public void arrived(long at, long bytes) {
            for (long done = 0; done < bytes; done += LARGEST_PIECE) {
                long from = at + done;
                copy.board().arrived(
                        copy.request(), places.getAndIncrement(), source + from, target + from,
                        Math.min(LARGEST_PIECE, bytes - done));
            }
            // Not before: the kernel would keep the GPU's processors waiting for a disk.
            turns().release(step);
        }

        boolean any() {
            return places.get() > 0;
        }

        /** Has the kernel end behind the pieces. */
        void end() {
            for (int place = places.get(); place < lastPlace(); place++) {
                copy.board().end(copy.request(), place);
            }
            turns().release(step);
        }

        /** Returns the place behind the last one of which the board tells. */
        private int lastPlace() {
            return Math.min(places.get() + PieceBoard.WAITING_PLACES, PieceBoard.PIECES);
        }

        void forget() {
            copy.board().forget(lastPlace());
        }
    }

    /**
     * @param over called once the operation is over
     */
    GatheredStreamRead(ParkedOperation parked, Turns turns, StreamMover mover, StagingSlabs slabs, Runnable over) {
        super(parked, turns);
        this.mover = mover;
        this.slabs = slabs;
        this.over = over;
    }

    /** Returns whether this serves an operation: others need no more than their stream's own slab, or are writes. */
    static boolean serves(StreamOperation operation) {
        return !operation.isWrite() && operation.largest() > StagingSlabs.PLACE_BYTES;
    }

    /** Returns the number of copies of a read of this size. */
    static long copies(long largest) {
        return Math.ceilDiv(largest, PART_BYTES);
    }

    /** Returns the number of pieces for which a kernel of such a read needs blocks. */
    static int likelyPieces(long largest) {
        return Math.toIntExact(Math.ceilDiv(Math.min(largest, PART_BYTES), SMALLEST_PIECE));
    }

    private static StreamCopy.Pieces pieces(Step step) {
        if (step.copy() instanceof StreamCopy.Pieces pieces) {
            return pieces;
        }
        throw new IllegalStateException("a step of another operation");
    }

    /**
     * Reads all parts; {@link #finish} follows.
     *
     * @param before the read before this one in the stream, which this finishes; null if it is over
     */
    void read(@Nullable GatheredStreamRead before) {
        earlier = before;
        begin(first());
        while (placed < parked().copies() && awaitStep()) {
            read(takeStep());
        }
        finishEarlier();
        if (placed < parked().copies()) {
            settle();
        }
    }

    private void begin(Step first) {
        if (earlier != null && operation().hasFixedArguments() && turns().isNext(pieces(first))) {
            bind();
            return;
        }
        finishEarlier();
        if (awaitReached(first)) {
            bind();
        }
    }

    private void read(Step step) {
        int number = placed++;
        long start = number * PART_BYTES;
        if (isInFlight(pieces(step).board())) {
            finishInFlight();
        }
        long bytes = hasEnded() ? 0 : Math.clamp(bound().size() - start, 0, PART_BYTES);
        MemoryRange slab = bytes == 0 ? null : slab(step, bytes);
        Told told = slab == null ? new Told(step, 0, 0) : move(step, slab, start, bytes);
        if (number == parked().copies() - 1) {
            settle(); // before the stream passes
        }
        told.end();
        finishInFlight();
        last = new Part(number, step, slab, told);
    }

    /** Returns a slab for a part; null if the stream has failed. */
    private @Nullable MemoryRange slab(Step step, long bytes) {
        int units = (int) Math.ceilDiv(bytes, StagingSlabs.UNIT_BYTES);
        if (earlier != null || last != null) {
            MemoryRange ahead = slabs.tryAcquireAhead(units, units);
            if (ahead != null) {
                return ahead;
            }
            finishInFlight();
        }
        return awaitReached(step) ? slabs.acquire(units, units) : null;
    }

    private Told move(Step step, MemoryRange slab, long start, long bytes) {
        BatchRequest whole = bound();
        long skew = whole.fileOffset() & PAGE_MASK;
        Told told = new Told(
                step, slab.address() + skew, whole.memory().address() + whole.bufferOffset() + start);
        try {
            long done = mover.movePart(
                    new BatchRequest(whole.file(), false, slab, bytes, whole.fileOffset() + start, skew, 0),
                    whole.size(), told);
            if (!told.any()) {
                told.arrived(0, done);
            }
            moved(done, bytes);
        } catch (RuntimeException e) {
            fail(e);
        }
        return told;
    }

    private boolean isInFlight(PieceBoard board) {
        return last != null && last.told().copy.board() == board || earlier != null && earlier.isInFlight(board);
    }

    /** Waits until the stream has made all copies that were told. */
    private void finishInFlight() {
        finishEarlier();
        Part part = last;
        if (part != null) {
            last = null;
            awaitCopied(part.step(), part.number(), placed == parked().copies());
            part.told().forget();
            leaveFirst();
            if (part.slab() != null) {
                slabs.release(part.slab());
            }
        }
    }

    private void finishEarlier() {
        GatheredStreamRead before = earlier;
        earlier = null;
        if (before != null) {
            before.finish();
        }
    }

    /** Waits until the stream has passed. Whatever happens, file and memory are released. */
    void finish() {
        if (isOver) {
            return;
        }
        isOver = true;
        try {
            finishInFlight();
        } finally {
            goOn();
            operation().end();
            over.run();
        }
    }
}
