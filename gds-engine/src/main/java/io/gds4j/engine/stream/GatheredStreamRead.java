package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A read of which a kernel in the stream copies each part, piece by piece while they arrive in a slab. Several threads serve parts, in
 * their order: one part is read while the one before it is still read or copied, also if that belongs to the read before. Thread-safe.
 *
 * <p>
 * A thread that waits for a slab holds none. It takes one ahead of the stream only once the part before its own has what it needs. So
 * each copy that a thread waits for comes.
 */
final class GatheredStreamRead {
    /** Bytes of a part. */
    static final long PART_BYTES = 4 * StagingSlabs.UNIT_BYTES;

    /** Smallest piece in bytes that a kernel has blocks for. */
    private static final long SMALLEST_PIECE = 64 << 10;

    /** Largest piece in bytes of what arrives at once. */
    private static final long LARGEST_PIECE = 256 << 10;

    /** Time between two looks at what is copied, and the time after which the event of the copy is asked, in nanoseconds. */
    private static final long PAUSE = 10_000;
    private static final long LONGEST_WAIT = 100 * PAUSE;

    private final StreamOperation operation;
    private final StreamTurns turns;
    private final StagingSlabs slabs;
    private final Runnable over;

    /** The operation with all that was bound late; null until then, and after a failure. */
    private @Nullable BatchRequest request;

    private boolean bound;

    /** Parts that come. */
    private int parts;

    /** Number of parts that threads have read, and of parts that the stream has passed. */
    private int read;
    private int passed;

    /** The first part that moved less than asked, and what it moved; {@code failure} if that is not the end of the file. */
    private int endPart = Integer.MAX_VALUE;
    private long endBytes;
    private @Nullable RuntimeException failure;

    private boolean settled;

    /** What the kernel of a part is told. */
    private final class Told implements PieceListener {
        private final Step step;
        private final PieceBoard board;
        private final int request;
        private final long source;
        private final long target;
        private final AtomicInteger places = new AtomicInteger();
        private volatile boolean released;

        Told(Step step, StreamCopy.Pieces copy, long source, long target) {
            this.step = step;
            this.board = copy.board().board();
            this.request = copy.request();
            this.source = source;
            this.target = target;
        }

        @Override
        public void arrived(long at, long bytes) {
            for (long done = 0; done < bytes; done += LARGEST_PIECE) {
                long from = at + done;
                board.arrived(
                        request, places.getAndIncrement(), source + from, target + from,
                        Math.min(LARGEST_PIECE, bytes - done));
            }
            release(); // not before: the kernel would keep the GPU's processors waiting for a disk
        }

        private void release() {
            if (!released) {
                released = true;
                turns.release(step);
            }
        }

        boolean any() {
            return places.get() > 0;
        }

        /** Has the kernel end behind the pieces. */
        void end() {
            for (int place = places.get(); place < lastPlace(); place++) {
                board.end(request, place);
            }
            release();
        }

        /** Waits until the kernel has copied all pieces, for a while: unlike events, the board takes no lock of the driver. */
        void awaitCopied() {
            int told = places.get();
            int place = 0;
            for (long waited = 0; place < told && waited < LONGEST_WAIT; waited += PAUSE) {
                while (place < told && board.isCopied(request, place)) {
                    place++;
                }
                if (place < told) {
                    LockSupport.parkNanos(PAUSE);
                }
            }
        }

        /** Returns the place behind the last one of which the board tells. */
        int lastPlace() {
            return Math.min(places.get() + PieceBoard.WAITING_PLACES, PieceBoard.PIECES);
        }
    }

    /**
     * @param over called once the operation is over
     */
    GatheredStreamRead(StreamOperation operation, StreamTurns turns, StagingSlabs slabs, Runnable over) {
        this.operation = operation;
        this.turns = turns;
        this.slabs = slabs;
        this.over = over;
        this.parts = Math.toIntExact(Math.ceilDiv(operation.largest(), PART_BYTES));
    }

    /** Returns whether this serves an operation: others need no more than their stream's own slab, or are writes. */
    static boolean serves(StreamOperation operation) {
        return !operation.isWrite() && operation.largest() > StagingSlabs.PLACE_BYTES;
    }

    /** Returns the number of pieces for which the kernels of a read need blocks. */
    static int likelyPieces(long largest) {
        return Math.toIntExact(Math.ceilDiv(Math.min(largest, PART_BYTES), SMALLEST_PIECE));
    }

    synchronized int parts() {
        return parts;
    }

    /** No more than {@code count} parts come, because CUDA refused one. */
    void breakOff(int count) {
        boolean last;
        synchronized (this) {
            parts = count;
            ended(count, 0, operation.brokenOff());
            last = passed == parts;
            notifyAll();
        }
        if (last) {
            finish();
        }
    }

    /**
     * Serves a part. Whatever happens, the stream passes; behind the last part, file and memory are released.
     *
     * @param parked the part on its way through the stream
     * @param number the part's, from 0 on
     * @param mover the thread's
     */
    void serve(ParkedOperation parked, int number, StreamMover mover) {
        Step step = parked.first();
        StreamCopy.Pieces copy = pieces(step);
        MemoryRange slab = null;
        Told told = new Told(step, copy, 0, 0);
        try {
            begin(step, number);
            copy.board().awaitFirst(copy.request());
            long bytes = bytes(number);
            slab = bytes == 0 ? null : slab(step, number, bytes);
            if (slab != null) {
                BatchRequest part = part(slab, number, bytes);
                told = new Told(step, copy, slab.address() + part.bufferOffset(), target(number));
                move(part, number, mover, told);
            }
        } catch (RuntimeException e) {
            ended(number, 0, e);
        } finally {
            copy.board().awaitFirst(copy.request());
            hasRead();
            settleIfLast(number);
            told.end();
            told.awaitCopied();
            awaitCopied(parked, step, number);
            copy.board().end(copy.request(), told.lastPlace());
            turns.leave(step);
            if (slab != null) {
                slabs.release(slab);
            }
            pass();
        }
    }

    private static StreamCopy.Pieces pieces(Step step) {
        if (step.copy() instanceof StreamCopy.Pieces pieces) {
            return pieces;
        }
        throw new IllegalStateException("a step of another operation");
    }

    private void begin(Step step, int number) {
        if (number > 0) {
            Uninterruptibly.await(this::untilBound);
            turns.awaitBefore(step);
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

    private synchronized void untilBound() throws InterruptedException {
        while (!bound) {
            wait();
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
        return new BatchRequest(
                whole.file(), false, slab, bytes, whole.fileOffset() + number * PART_BYTES,
                whole.fileOffset() & StagedStreamCopy.PAGE_MASK, 0);
    }

    private long target(int number) {
        BatchRequest whole = whole();
        return whole.memory().address() + whole.bufferOffset() + number * PART_BYTES;
    }

    private void move(BatchRequest part, int number, StreamMover mover, Told told) {
        try {
            long done = mover.movePart(part, whole().size(), told);
            if (!told.any()) {
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

    private synchronized void hasRead() {
        read++;
        notifyAll();
    }

    /** Sets the result before the stream passes the last part. */
    private void settleIfLast(int number) {
        Uninterruptibly.await(() -> untilAllAreReadIfLast(number));
        synchronized (this) {
            if (number == parts - 1 && !settled) {
                settle();
            }
        }
    }

    private synchronized void untilAllAreReadIfLast(int number) throws InterruptedException {
        while (number == parts - 1 && read < parts) {
            wait();
        }
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

    private void awaitCopied(ParkedOperation parked, Step step, int number) {
        RuntimeException cause = operation.brokenOff();
        if (parked.awaitComplete(1)) {
            int come = turns.awaitCopy(step.copied());
            if (come == 0) {
                return;
            }
            cause = turns.failure(come);
        }
        synchronized (this) {
            if (!settled) {
                ended(number, 0, cause);
                return;
            }
        }
        operation.log("a copy of a stream failed", cause);
    }

    private void pass() {
        boolean last;
        synchronized (this) {
            passed++;
            last = passed == parts;
        }
        if (last) {
            finish();
        }
    }

    private void finish() {
        synchronized (this) {
            if (!settled) {
                settle();
            }
        }
        operation.end();
        over.run();
    }
}
