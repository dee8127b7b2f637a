package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.machine.TransferCosts;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The copies of one operation, whose stream waits in one step and then runs one kernel, whatever the size: threads tell the kernel of each
 * piece. Thread-safe.
 */
final class ToldCopies {
    private final ParkedOperation parked;
    private final Step step;
    private final StreamTurns turns;
    private final StreamBoard stream;
    private final PieceBoard board;
    private final int request;
    private final AtomicInteger places = new AtomicInteger();
    private volatile boolean released;

    /** @param step the step of the operation that copies */
    ToldCopies(ParkedOperation parked, Step step, StreamTurns turns) {
        if (!(step.copy() instanceof StreamCopy.Pieces(StreamBoard copies, int number))) {
            throw new IllegalStateException("a step of another operation");
        }
        this.parked = parked;
        this.step = step;
        this.turns = turns;
        this.stream = copies;
        this.board = copies.board();
        this.request = number;
    }

    Step step() {
        return step;
    }

    /** Waits until the operations before this one on the same board are over. */
    void awaitFirst() {
        stream.awaitFirst(request);
    }

    /** Pieces of which one or several threads have told. Thread-safe. */
    final class Places {
        private int[] numbers =
                new int[(int) Math.ceilDiv(GatheredStreamRead.PART_BYTES, TransferCosts.TOLD_MAX_PIECE)];
        private int count;

        void tell(long source, long target, long bytes) {
            for (long done = 0; done < bytes; done += TransferCosts.TOLD_MAX_PIECE) {
                int place = places.getAndIncrement();
                awaitLine(place);
                board.arrived(request, place, source + done, target + done,
                        Math.min(TransferCosts.TOLD_MAX_PIECE, bytes - done));
                add(place);
            }
            release(); // not before: the kernel would keep the GPU's processors waiting for a disk
        }

        private synchronized void add(int place) {
            if (count == numbers.length) {
                numbers = Arrays.copyOf(numbers, 2 * count);
            }
            numbers[count++] = place;
        }

        synchronized boolean any() {
            return count > 0;
        }

        /** Waits until all pieces are copied. Returns the reason if they will not be. No thread tells any more. */
        synchronized @Nullable RuntimeException awaitCopied() {
            RuntimeException failure = null;
            for (int i = 0; i < count && failure == null; i++) {
                failure = ToldCopies.this.awaitCopied(numbers[i]);
            }
            return failure;
        }
    }

    Places places() {
        return new Places();
    }

    /** Waits until the line of a place has served the place before it. */
    private void awaitLine(int place) {
        if (place >= PieceBoard.PIECES) {
            awaitCopied(place - PieceBoard.PIECES);
        }
    }

    /** Asks the board, and rarely the event: unlike events, the board takes no lock of the driver. */
    private @Nullable RuntimeException awaitCopied(int place) {
        long begun = System.nanoTime();
        long asked = begun;
        while (!board.hasCopied(request, place)) {
            long now = System.nanoTime();
            if (now - begun < TransferCosts.TOLD_SPIN_NANOS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(TransferCosts.TOLD_PAUSE_NANOS);
            }
            if (now - asked >= TransferCosts.TOLD_ASKS_AFTER_NANOS) {
                asked = now;
                if (isOver() && !board.hasCopied(request, place)) {
                    return failure();
                }
            }
        }
        return null;
    }

    private boolean isOver() {
        if (parked.isComplete(1)) {
            return turns.isPast(step.copied());
        }
        return parked.isBroken() && (!parked.isLaunched() || turns.isIdle());
    }

    private RuntimeException failure() {
        int result = parked.isComplete(1) ? turns.await(step.copied()) : 0;
        return result == 0 ? parked.operation().brokenOff() : turns.failure(result);
    }

    /** Lets the stream come to its kernel. */
    void release() {
        if (!released) {
            released = true;
            turns.letIn(step);
        }
    }

    /** Has the kernel end behind the pieces: no more follow. */
    void end() {
        int told = places.get();
        for (int place = told; place < told + PieceBoard.WAITING_PLACES; place++) {
            awaitLine(place);
            board.end(request, place);
        }
        release();
    }

    /** Waits until the kernel has ended, and leaves the step. Returns the reason if it did not copy. */
    @Nullable
    RuntimeException leave() {
        RuntimeException failure = parked.operation().brokenOff();
        if (parked.awaitComplete(1)) {
            int result = turns.awaitCopy(step.copied());
            failure = result == 0 ? null : turns.failure(result);
            stream.end(request, places.get() + PieceBoard.WAITING_PLACES);
        } else {
            stream.abandon(request);
        }
        turns.leave(step);
        return failure;
    }
}
