package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferPlan;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.source.Cancellation;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A request being served: threads claim its pieces, and finish each claimed piece. The first piece that moved less than asked, or that
 * no thread has claimed, decides how many bytes were moved without a gap: pieces may be claimed from both ends. A {@code RequestContext} owns the transfer and reuses it for one request after
 * the other, so that a request allocates nothing.
 */
public abstract sealed class Transfer permits HostTransfer, StagedTransfer {
    private static final long NONE = Long.MAX_VALUE;

    /** One claim of the last piece in {@link #claims}. */
    private static final long LAST = 1L << 32;

    private final TransferRequest request;
    private final TransferPlan plan = new TransferPlan();

    /** The claims so far: in the lower half those of the first piece that was left, in the upper half those of the last one. */
    private final AtomicLong claims = new AtomicLong();
    private long pieces;

    /** The tools of the thread that waits. */
    private @Nullable ThreadContext owner;

    /** Pieces from this one on are no longer claimed. */
    private volatile long limit;

    private volatile long endPiece = NONE;
    private long endBytes;
    private Ending ending = Ending.END_OF_FILE;
    private int endErrno;
    private @Nullable Throwable endCause;
    private boolean interrupted;

    /** Claims and moves pieces until there are none left. Reports failures to {@link #stop} and does not throw them. */
    public abstract void run(ThreadContext thread);

    /** Called by the thread that waits for the transfer, before any thread {@link #run}s it. */
    public void open(ThreadContext thread) {
        if (owner != thread) {
            owner = thread; // a stored reference costs a memory barrier of the garbage collector
        }
    }

    /** Called by the same thread when no thread runs the transfer any more. Reports failures to {@link #stop}. */
    public void settle() {
        // most transfers have moved their bytes when their threads are done
    }

    /** Returns whether the CUDA driver moves the bytes. */
    public abstract boolean usesGpu();

    Transfer(TransferRequest request) {
        this.request = request;
    }

    /** Begins to serve the request, after the plan is set. */
    public final void begin() {
        pieces = plan.pieces();
        endPiece = NONE;
        endCause = null;
        interrupted = false;
        claims.set(0);
        limit = pieces;
    }

    /** Drops references to objects of the request. */
    public void end() {
        endCause = null;
    }

    final TransferRequest request() {
        return request;
    }

    /** Returns what tells a source that a piece is no longer needed. A file needs none, and then this allocates nothing. */
    final Cancellation cancellation(long piece) {
        return request.file().source() == null ? Cancellation.NEVER : () -> piece >= limit || endPiece < piece;
    }

    public final TransferPlan plan() {
        return plan;
    }

    public final long pieces() {
        return pieces;
    }

    /** Returns the offset of a piece in the request. */
    private long pieceOffset(long piece) {
        return plan.pieceStart(piece) - plan.offset();
    }

    /** Returns whether a thread is the one that waits for the transfer. */
    final boolean isOwner(ThreadContext thread) {
        return thread == owner;
    }

    /**
     * Claims the next piece to move; -1 if there is none. If pieces are taken from both ends, the thread that waits begins with the first
     * piece and its helpers with the last one, until they meet. So memory and disk work at the same time.
     */
    final long claim(ThreadContext thread) {
        if (thread.heedsInterrupts() && Thread.currentThread().isInterrupted()) {
            cancel();
        }
        if (thread.shouldLeave()) {
            return -1;
        }
        boolean last = plan.isTakenFromBothEnds() && !isOwner(thread);
        while (hasUnclaimed()) {
            long before = claims.getAndAdd(last ? LAST : 1);
            long piece = last ? pieces - 1 - before / LAST : before % LAST;
            if (total(before) < pieces && piece < limit) {
                return piece;
            }
        }
        return -1;
    }

    /** Returns whether a thread that waits for what it needs to move pieces may leave: others have claimed all that will be moved. */
    public final boolean isOver() {
        ThreadContext waiting = owner;
        if (waiting != null && waiting.heedsInterrupts() && Thread.currentThread().isInterrupted()) {
            cancel(); // a program interrupts no thread of gds4j
        } else if (request.isCancelled()) {
            cancelUnbegun();
        }
        return !hasUnclaimed();
    }

    private static long total(long claims) {
        return claims % LAST + claims / LAST;
    }

    /** Returns whether there may be unclaimed pieces. */
    public final boolean hasUnclaimed() {
        long all = claims.get();
        return all % LAST < limit && total(all) < pieces;
    }

    /** Returns whether this piece or an earlier one has ended the request. */
    final boolean isEnded(long piece) {
        return piece >= endPiece;
    }

    /**
     * Ends the request at a piece that moved fewer bytes than asked.
     *
     * @param errno the reason; 0 at the end of the file
     */
    final void stop(long piece, long bytes, int errno) {
        stop(piece, bytes, errno == 0 ? Ending.END_OF_FILE : Ending.ERRNO, errno, null);
    }

    /** Ends the request at a piece of which moving threw this. */
    final void fail(long piece, Throwable thrown) {
        if (thrown instanceof InternalError) { // memory that is mapped from a file, which was cut: the kernel would say so, too
            stop(piece, 0, Ending.ERRNO, Errno.EFAULT, thrown);
            return;
        }
        stop(piece, 0, Ending.of(thrown, isArenaClosed()), 0, thrown);
    }

    private synchronized void stop(long piece, long bytes, Ending how, int errno, @Nullable Throwable cause) {
        // A piece that the file's end cut may fail yet: its copy to a GPU is still under way.
        if (piece < endPiece || piece == endPiece && bytes < endBytes) {
            endPiece = piece;
            endBytes = bytes;
            ending = how;
            endErrno = errno;
            endCause = cause;
        }
        limit = Math.min(limit, piece + 1);
    }

    /** Returns whether the request's memory is of an arena that the program has closed. */
    boolean isArenaClosed() {
        return false;
    }

    /** Fails the next unclaimed piece, because the thread cannot move any. */
    final void stopNext(ThreadContext thread, Throwable cause) {
        long piece = claim(thread);
        if (piece >= 0) {
            fail(piece, cause);
        }
    }

    /** Ends the request after the claimed pieces. */
    public final synchronized void cancel() {
        long all = claims.get();
        long claimed = total(all) < pieces ? all % LAST : pieces;
        if (claimed < limit) {
            limit = claimed;
            interrupted = true;
        }
    }

    private synchronized void cancelUnbegun() {
        if (claims.compareAndSet(0, pieces)) {
            limit = 0;
            interrupted = true;
        }
    }

    /**
     * Returns the number of bytes moved. No thread may be at work.
     *
     * @throws CuFileException if a piece failed or the caller was interrupted
     */
    public final synchronized long result(String function, Optional<Path> path) {
        if (interrupted && limit <= endPiece) {
            // No thread has claimed the pieces from the limit on, whatever another has met behind them.
            throw failure(function, path, pieceOffset(limit))
                    .error(CuFileError.IO_ERROR)
                    .detail("interrupted")
                    .buildInterrupted();
        }
        if (endPiece == NONE) {
            return plan.size();
        }
        long moved = pieceOffset(endPiece) + endBytes;
        return switch (ending) {
            case END_OF_FILE -> moved;
            case ERRNO -> throw PosixErrors.failure(function, request.isWrite() ? "pwrite" : "pread", -endErrno)
                    .path(path)
                    .range(plan.offset(), plan.size())
                    .transferred(moved)
                    .build();
            case FAILED -> throw repeated(failure(function, path, moved), (CuFileException) cause());
            case ARENA_CLOSED -> throw failure(function, path, moved)
                    .error(CuFileError.CUDA_POINTER_INVALID)
                    .detail("the memory's arena was closed during the request")
                    .cause(cause())
                    .build();
            case DEFECT -> throw defect(cause());
        };
    }

    private Throwable cause() {
        return Objects.requireNonNull(endCause, "what was thrown");
    }

    private static CuFileException repeated(CuFileException.Builder request, CuFileException known) {
        request.error(known.error()).errno(known.errno().orElse(0)).detail(known.detail()).cause(known);
        return known instanceof CuFileInterruptedException ? request.buildInterrupted() : request.build();
    }

    /** Returns what is not checked, or throws an error. */
    private static RuntimeException defect(Throwable thrown) {
        if (thrown instanceof Error error) {
            throw error;
        }
        return (RuntimeException) thrown;
    }

    private CuFileException.Builder failure(String function, Optional<Path> path, long moved) {
        return CuFileException.builder(function)
                .path(path)
                .range(plan.offset(), plan.size())
                .transferred(moved);
    }
}
