package io.gds4j.engine.stream;

import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.stream.StreamMover.PieceListener;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import org.jspecify.annotations.Nullable;

/**
 * A read of which a kernel in the stream copies each piece as it arrives in a slab. Several threads serve parts, in their order: one part
 * is read while the one before it is still read or copied, also if that belongs to the read before. Thread-safe.
 *
 * <p>
 * A thread that waits for a slab holds none. It takes one ahead of the stream only once the part before its own has what it needs. So
 * each copy that a thread waits for comes.
 */
final class GatheredStreamRead {
    /** Bytes of a part. */
    static final long PART_BYTES = 4 * StagingSlabs.UNIT_BYTES;

    private final ParkedOperation parked;
    private final StreamOperation operation;
    private final StreamTurns turns;
    private final StagingSlabs slabs;
    private final Runnable over;
    private final int parts;

    /** Number of parts that threads have begun. */
    private int claimed;

    /** The copies of the stream; null until a thread begins the first part. */
    private @Nullable ToldCopies copies;

    /** The operation with all that was bound late; null until then, and after a failure. */
    private @Nullable BatchRequest request;

    private boolean bound;

    /** Number of parts that need no more slabs, that threads have read, and that are over. */
    private int supplied;
    private int read;
    private int passed;

    /** The first part that moved less than asked, and what it moved; {@code failure} if that is not the end of the file. */
    private int endPart = Integer.MAX_VALUE;
    private long endBytes;
    private @Nullable RuntimeException failure;

    private boolean settled;

    /** Hears of the pieces of a part, and has the stream copy them. */
    private record Told(ToldCopies.Places places, BatchRequest whole, long start, long source)
            implements
                PieceListener {
        @Override
        public void arrived(long at, long bytes) {
            RequestParts.forEach(whole, start + at, bytes,
                    (memory, address, offset, length) -> places.tell(source + at + offset, address, length));
        }
    }

    /**
     * @param over called once the operation is over
     */
    GatheredStreamRead(ParkedOperation parked, StreamTurns turns, StagingSlabs slabs, Runnable over) {
        this.parked = parked;
        this.operation = parked.operation();
        this.turns = turns;
        this.slabs = slabs;
        this.over = over;
        this.parts = Math.toIntExact(Math.ceilDiv(operation.largest(), PART_BYTES));
    }

    /** Returns whether this serves an operation: others need no more than their stream's own slab, or are writes. */
    static boolean serves(ParkedOperation parked) {
        return parked.isTold() && !parked.operation().isWrite();
    }

    /** Returns the number of pieces for which the kernel of a read needs blocks. */
    static int likelyPieces(long largest) {
        return Math.toIntExact(Math.ceilDiv(Math.min(largest, PART_BYTES), TransferCosts.STREAM_MIN_PIECE));
    }

    int parts() {
        return parts;
    }

    /** Returns the number of the next part, from 0 on. The caller serves it. */
    synchronized int claim() {
        return claimed++;
    }

    /** Returns whether threads have begun all parts. */
    synchronized boolean isClaimed() {
        return claimed == parts;
    }

    /**
     * Serves a part. Whatever happens, the stream passes; behind the last part, file and memory are released.
     *
     * @param number the part's, from 0 on
     * @param mover the thread's
     */
    void serve(int number, StreamMover mover) {
        ToldCopies told = copies(number);
        ToldCopies.Places places = told.places();
        MemoryRange slab = null;
        try {
            begin(told.step(), number);
            told.awaitFirst();
            long bytes = bytes(number);
            slab = bytes == 0 ? null : slab(told.step(), number, bytes);
            supply(number, told.step());
            if (slab != null) {
                BatchRequest part = part(slab, number, bytes);
                move(part, number, mover, new Told(
                        places, whole(), number * PART_BYTES, slab.address() + part.bufferOffset()));
            }
        } catch (RuntimeException e) {
            ended(number, 0, e);
        } finally {
            told.awaitFirst();
            supply(number, told.step());
            if (hasReadAll()) {
                endCopies(told);
            }
            noteFailure(number, places.awaitCopied());
            if (slab != null) {
                slabs.release(slab);
            }
            if (hasPassedAll()) {
                finish(told);
            }
        }
    }

    /** The first part begins before others are claimed, or its thread is about to set them. */
    private ToldCopies copies(int number) {
        if (number == 0) {
            ToldCopies first = new ToldCopies(parked, parked.first(), turns);
            synchronized (this) {
                copies = first;
                notifyAll();
            }
            return first;
        }
        Uninterruptibly.await(this::untilBegun);
        return begun();
    }

    private synchronized void untilBegun() throws InterruptedException {
        while (copies == null) {
            wait();
        }
    }

    private synchronized ToldCopies begun() {
        if (copies == null) {
            throw new IllegalStateException("the first part has not begun");
        }
        return copies;
    }

    private void begin(Step step, int number) {
        if (number > 0) {
            Uninterruptibly.await(() -> untilSupplied(number));
            return;
        }
        BatchRequest whole = null;
        RuntimeException cause = null;
        int come = operation.hasFixedArguments() ? turns.awaitNext(step) : turns.await(step.reached());
        try {
            whole = come == 0 ? operation.bindStaged() : null;
            cause = come == 0 ? null : turns.failure(come);
        } catch (RuntimeException e) {
            cause = e;
        }
        bind(whole, cause);
    }

    private synchronized void bind(@Nullable BatchRequest whole, @Nullable RuntimeException cause) {
        request = whole;
        bound = true;
        if (whole == null || whole.size() == 0) {
            ended(0, 0, cause);
        }
        notifyAll();
    }

    /** Waits until the parts before one need no more slabs. */
    private synchronized void untilSupplied(int number) throws InterruptedException {
        while (!bound || supplied < number) {
            wait();
        }
    }

    /** A part needs no more slabs. The operation behind the read may take some once no part does. */
    private void supply(int number, Step step) {
        synchronized (this) {
            supplied = Math.max(supplied, number + 1);
            notifyAll();
        }
        if (number == parts - 1) {
            turns.supplied(step);
        }
    }

    private synchronized BatchRequest whole() {
        if (request == null) {
            throw new IllegalStateException("nothing is moved before all is bound");
        }
        return request;
    }

    /** Returns the number of bytes to read; 0 if an earlier part has ended the read. */
    private synchronized long bytes(int number) {
        return number >= endPart || request == null
                ? 0
                : Math.clamp(request.size() - number * PART_BYTES, 0, PART_BYTES);
    }

    /** Returns a slab for a part; null if the stream has failed. */
    private @Nullable MemoryRange slab(Step step, int number, long bytes) {
        int units = (int) Math.ceilDiv(bytes, StagingSlabs.UNIT_BYTES);
        MemoryRange ahead = slabs.tryAcquireAhead(units, units);
        if (ahead != null) {
            return ahead;
        }
        // Until the stream is here it may wait behind other streams, which may need the units that we would hold.
        int come = turns.await(step.reached());
        if (come != 0) {
            ended(number, 0, turns.failure(come));
            return null;
        }
        return slabs.acquire(units, units);
    }

    private BatchRequest part(MemoryRange slab, int number, long bytes) {
        BatchRequest whole = whole();
        return whole.staged(slab, number * PART_BYTES, bytes, Pages.offset(whole.fileOffset()));
    }

    private void move(BatchRequest part, int number, StreamMover mover, Told told) {
        try {
            long done = mover.movePart(part, whole().size(), told);
            if (!told.places().any()) {
                told.arrived(0, done);
            }
            if (done < part.size()) {
                ended(number, done, null);
            }
        } catch (RuntimeException e) {
            ended(number, 0, e);
        }
    }

    /** The read ends in a part, unless it ends in an earlier one. */
    private synchronized void ended(int number, long bytes, @Nullable RuntimeException cause) {
        if (number < endPart) {
            endPart = number;
            endBytes = bytes;
            failure = cause;
        }
    }

    private synchronized boolean hasReadAll() {
        read++;
        return read == parts;
    }

    /** Sets the result, then has the kernel end, and with it lets the stream pass. */
    private void endCopies(ToldCopies told) {
        told.release(); // the call that launches the kernel may wait for room behind this
        if (!parked.awaitLaunched()) {
            ended(0, 0, operation.brokenOff());
        }
        settle();
        told.end();
    }

    private synchronized void settle() {
        settled = true;
        RuntimeException cause = failure;
        if (cause != null) {
            operation.settle(operation.code(cause));
        } else if (endPart < Integer.MAX_VALUE) {
            operation.settle(endPart * PART_BYTES + endBytes);
        } else {
            operation.settle(whole().size());
        }
    }

    /** Notes that the stream has not copied a part. Once the result is set, {@link #finish} corrects it. */
    private synchronized void noteFailure(int number, @Nullable RuntimeException cause) {
        if (cause != null && !settled) {
            ended(number, 0, cause);
        }
    }

    private synchronized boolean hasPassedAll() {
        passed++;
        return passed == parts;
    }

    private void finish(ToldCopies told) {
        RuntimeException cause = told.leave();
        if (cause != null && parked.isComplete(1)) { // else the result tells
            operation.failBehindResult(cause);
        }
        operation.end();
        over.run();
    }
}
