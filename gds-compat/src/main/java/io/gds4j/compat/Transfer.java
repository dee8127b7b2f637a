package io.gds4j.compat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.memory.InFlight;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One request at work: threads claim its pieces in order of the file, each claimed piece is finished, and the first one that
 * moved less than asked decides what was moved without a gap.
 */
abstract sealed class Transfer permits HostRead, HostWrite, DeviceRead, DeviceWrite {
    private final FilePair pair;
    private final RequestPlan plan;
    private final long pieces;
    private final AtomicLong next = new AtomicLong();
    private final InFlight runners = new InFlight();

    /** Pieces from this one on are not claimed any more. */
    private volatile long limit;

    private volatile long endPiece = Long.MAX_VALUE;
    private long endBytes;
    private int endErrno;
    private @Nullable RuntimeException endCause;
    private boolean interrupted;

    Transfer(FilePair pair, RequestPlan plan) {
        this.pair = pair;
        this.plan = plan;
        this.pieces = plan.pieces();
        this.limit = pieces;
    }

    /** Claims and moves pieces until there are none left. Never throws: failures are noted by {@link #stop}. */
    abstract void run(Lane lane);

    /** True if the bytes go through a GPU's driver. */
    abstract boolean usesGpu();

    FilePair pair() {
        return pair;
    }

    RequestPlan plan() {
        return plan;
    }

    long pieces() {
        return pieces;
    }

    /** Bytes from the request's first to that piece's first. */
    long pieceOffset(long piece) {
        return plan.pieceStart(piece) - plan.offset();
    }

    /** The next piece to move, or -1 if there is none. */
    long claim(Lane lane) {
        if (lane.heedsInterrupts() && Thread.currentThread().isInterrupted()) {
            interrupt();
        }
        if (next.get() >= limit) {
            return -1;
        }
        long piece = next.getAndIncrement();
        return piece < limit ? piece : -1;
    }

    boolean hasUnclaimed() {
        return next.get() < limit;
    }

    /** True if this piece or an earlier one has ended the request, so that this one no longer matters. */
    boolean isEnded(long piece) {
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

    private synchronized void interrupt() {
        long claimed = Math.min(next.get(), pieces);
        if (claimed < limit) {
            limit = claimed;
            interrupted = true;
        }
    }

    /** Ends the request after the pieces that are at work. */
    void cancel() {
        interrupt();
    }

    boolean enter() {
        return runners.enter();
    }

    void exit() {
        runners.exit();
    }

    int runners() {
        return runners.users();
    }

    /** Lets nobody in any more and waits for those at work. */
    void awaitRunners() {
        runners.close();
    }

    /**
     * What came of it, once nobody is at work.
     *
     * @throws CuFileException if a piece failed or the caller was interrupted
     */
    final synchronized long result(String function, Optional<Path> path) {
        if (endPiece == Long.MAX_VALUE) {
            if (!interrupted) {
                return plan.size();
            }
            throw CuFileException.builder(function)
                    .error(CuFileError.IO_ERROR)
                    .path(path)
                    .range(plan.offset(), plan.size())
                    .transferred(pieceOffset(limit))
                    .detail("interrupted")
                    .buildInterrupted();
        }
        long moved = pieceOffset(endPiece) + endBytes;
        if (endCause instanceof CuFileException known) {
            throw CuFileException.builder(function)
                    .error(known.error())
                    .errno(known.errno().orElse(0))
                    .path(path)
                    .range(plan.offset(), plan.size())
                    .transferred(moved)
                    .detail(known.detail())
                    .cause(known)
                    .build();
        }
        if (endCause instanceof IllegalStateException closed) {
            throw CuFileException.builder(function)
                    .error(CuFileError.CUDA_POINTER_INVALID)
                    .path(path)
                    .range(plan.offset(), plan.size())
                    .transferred(moved)
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

    /** The system call that moves bytes, for messages. */
    abstract String systemCall();
}
