package io.gds4j.compat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.PosixErrors;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One request at work: threads claim its pieces in the order of its plan, each claimed piece is finished, and the first one that
 * moved less than asked decides what was moved without a gap. Belongs to a {@link Lane} and serves its requests one after the
 * other, so that a request allocates nothing.
 */
abstract sealed class Transfer permits HostTransfer, DeviceRead, DeviceWrite {
    private static final long NONE = Long.MAX_VALUE;

    /** From here on a request lasts long enough for threads to come that are free later. */
    private static final long LARGE = 64L << 20;

    private final RequestPlan plan = new RequestPlan();
    /** The turn of whoever claims next. */
    private final AtomicLong next = new AtomicLong();
    private final AtomicInteger runners = new AtomicInteger();

    private final List<Crew.Worker> helpers = new ArrayList<>();

    private boolean starving;
    private @Nullable FilePair pair;
    private @Nullable Thread owner;
    private @Nullable Crew crew;
    private long pieces;
    private int threads = 1;

    /** Pieces from this one on are not claimed any more. */
    private volatile long limit;

    private volatile long endPiece = NONE;
    private long endBytes;
    private int endErrno;
    private @Nullable RuntimeException endCause;
    private boolean interrupted;

    /** Claims and moves pieces until there are none left. Never throws: failures are noted by {@link #stop}. */
    abstract void run(Lane lane);

    /** True if the bytes go through a GPU's driver. */
    abstract boolean usesGpu();

    /** The system call that moves bytes, for messages. */
    abstract String systemCall();

    /**
     * Begins a new request, whose plan is set.
     *
     * @param most threads that it may have, its caller included
     */
    final void begin(FilePair file, int most) {
        pair = file;
        threads = most;
        pieces = plan.pieces();
        endPiece = NONE;
        endCause = null;
        interrupted = false;
        next.set(0);
        limit = pieces;
    }

    /** Lets go of what the request referred to. */
    void end() {
        pair = null;
        crew = null;
        endCause = null;
    }

    /** Who may help. */
    final void helpedBy(Crew workers) {
        crew = workers;
    }

    final Crew crew() {
        Crew workers = crew;
        if (workers == null) {
            throw new IllegalStateException("no workers");
        }
        return workers;
    }

    final FilePair pair() {
        FilePair file = pair;
        if (file == null) {
            throw new IllegalStateException("no request");
        }
        return file;
    }

    final RequestPlan plan() {
        return plan;
    }

    final long pieces() {
        return pieces;
    }

    /** Bytes from the request's first to that piece's first. */
    private long pieceOffset(long piece) {
        return plan.pieceStart(piece) - plan.offset();
    }

    /** The next piece to move, or -1 if there is none. */
    final long claim(Lane lane) {
        if (lane.heedsInterrupts() && Thread.currentThread().isInterrupted()) {
            cancel();
        }
        if (lane.shouldLeave(this)) {
            return -1;
        }
        while (hasUnclaimed()) {
            long turn = next.getAndIncrement();
            if (turn >= pieces) {
                return -1;
            }
            long piece = plan.pieceOfTurn(turn);
            if (piece < limit) {
                return piece;
            }
        }
        return -1;
    }

    /** True if pieces may be left, and false once there are none. */
    final boolean hasUnclaimed() {
        return next.get() < (plan.isTakenFromBothEnds() ? pieces : limit);
    }

    /** True if this piece or an earlier one has ended the request, so that this one no longer matters. */
    final boolean isEnded(long piece) {
        return piece >= endPiece;
    }

    /**
     * A piece moved fewer bytes than asked.
     *
     * @param errno why, or 0 at the end of the file
     */
    final synchronized void stop(long piece, long bytes, int errno, @Nullable RuntimeException cause) {
        if (piece < endPiece) {
            endPiece = piece;
            endBytes = bytes;
            endErrno = errno;
            endCause = cause;
        }
        limit = Math.min(limit, piece + 1);
    }

    /** The thread can move nothing: the next unclaimed piece fails, if there is one. */
    final void stopNext(Lane lane, RuntimeException cause) {
        long piece = claim(lane);
        if (piece >= 0) {
            stop(piece, 0, 0, cause);
        }
    }

    /** Ends the request after the pieces that are at work. */
    final synchronized void cancel() {
        long claimed = plan.takenFromTheFirst(Math.min(next.get(), pieces));
        if (claimed < limit) {
            limit = claimed;
            interrupted = true;
        }
    }

    /** The calling thread is the one that will wait for the workers. */
    final void ownByCurrentThread() {
        owner = Thread.currentThread();
    }

    /** True if it lasts so long that workers may join it at any time. */
    final boolean isLarge() {
        return plan.size() >= LARGE;
    }

    /** Threads that it may have, its caller included; once on offer the crew's, under its lock. */
    final int threads() {
        return threads;
    }

    final void setThreads(int most) {
        threads = most;
    }

    /** True while there is something for one more worker to do and it may have one; the crew's, under its lock. */
    final boolean wantsWorker() {
        return hasUnclaimed() && runners.get() < threads - 1;
    }

    /** The workers it was given to; the crew's, under its lock. */
    final List<Crew.Worker> helpers() {
        return helpers;
    }

    /** True while it is on offer and no worker has come; the crew's, under its lock. */
    final boolean isStarving() {
        return starving;
    }

    final void setStarving(boolean value) {
        starving = value;
    }

    /** Counts a worker in; under the crew's lock, while the request is on offer. */
    final void enter() {
        runners.incrementAndGet();
    }

    final void exit() {
        Thread waiting = owner;
        if (runners.decrementAndGet() == 0) {
            LockSupport.unpark(waiting);
        }
    }

    final int runners() {
        return runners.get();
    }

    /** Waits for the workers inside; no more come, the request is no longer on offer. */
    final void awaitRunners() {
        boolean wasInterrupted = false;
        while (runners.get() > 0) {
            LockSupport.park(this);
            wasInterrupted |= Thread.interrupted();
        }
        if (wasInterrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * What came of it, once nobody is at work.
     *
     * @throws CuFileException if a piece failed or the caller was interrupted
     */
    final synchronized long result(String function, Optional<Path> path) {
        if (endPiece == NONE) {
            if (!interrupted) {
                return plan.size();
            }
            throw failure(function, path, pieceOffset(limit))
                    .error(CuFileError.IO_ERROR)
                    .detail("interrupted")
                    .buildInterrupted();
        }
        long moved = pieceOffset(endPiece) + endBytes;
        if (endCause instanceof CuFileException known) {
            throw failure(function, path, moved)
                    .error(known.error())
                    .errno(known.errno().orElse(0))
                    .detail(known.detail())
                    .cause(known)
                    .build();
        }
        if (endCause instanceof IllegalStateException closed) {
            throw failure(function, path, moved)
                    .error(CuFileError.CUDA_POINTER_INVALID)
                    .detail("the memory's arena was closed during the request")
                    .cause(closed)
                    .build();
        }
        if (endCause != null) {
            throw endCause;
        }
        if (endErrno != 0) {
            throw PosixErrors.failure(function, systemCall(), -endErrno)
                    .path(path)
                    .range(plan.offset(), plan.size())
                    .transferred(moved)
                    .build();
        }
        return moved;
    }

    private CuFileException.Builder failure(String function, Optional<Path> path, long moved) {
        return CuFileException.builder(function)
                .path(path)
                .range(plan.offset(), plan.size())
                .transferred(moved);
    }
}
