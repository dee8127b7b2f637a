package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.staging.CopySlots;
import io.gds4j.engine.staging.GatherCopy;
import io.gds4j.engine.staging.PieceFailures;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import org.jspecify.annotations.Nullable;

/**
 * Moves pieces between the file and slabs, and between slabs and memory: each thread by the slots of its own. Of a read that is gathered,
 * one kernel copies all pieces.
 */
abstract sealed class StagedTransfer extends Transfer implements PieceFailures
        permits DeviceTransfer, ScatterTransfer {
    /** Copies all pieces of this request; null if each thread copies its own. */
    private @Nullable GatherCopy gather;

    /** The byte of the file that is first in the slabs of a gathered read. */
    private long origin;

    StagedTransfer(TransferRequest request) {
        super(request);
    }

    /**
     * Has one kernel copy all pieces of a gathered read, if kernel and slabs are there.
     *
     * @param places number of copies of which {@link #arrived} tells the kernel
     */
    final void gather(ThreadContext thread, PreparedGpu gpu, long places) {
        if (places > PieceBoard.PIECES) {
            return;
        }
        GatherCopy copy = thread.gather(gpu);
        try {
            if (copy.begin(this, (int) places, pieces() * plan().pieceSize())) {
                origin = Pages.down(plan().offset(), plan().pieceSize());
                gather = copy;
            }
        } catch (CuFileException | OutOfMemoryError e) {
            // each thread copies its own pieces, and reports a failure with the piece
        }
    }

    /**
     * Tells the kernel where a piece goes.
     *
     * @param host its bytes, in a slab
     * @param read its bytes that were read; 0 if that failed
     */
    abstract void arrived(GatherCopy copy, long piece, long host, long read);

    @Override
    public final void settle() {
        GatherCopy copy = gather;
        if (copy != null) {
            gather = null;
            copy.settle(this);
        }
    }

    private void runGathered(ThreadContext thread, GatherCopy copy) {
        if (isOwner(thread)) {
            // Now, not before workers are woken: they take longer to come than the kernel.
            copy.launch(plan().readers());
        }
        for (long piece = claim(thread); piece >= 0; piece = claim(thread)) {
            long start = plan().pieceStart(piece);
            long end = plan().pieceEnd(piece);
            long host = copy.place(start - origin);
            long read = 0;
            try {
                read = thread.io().move(request().file(), plan(), start, end, host, cancellation(piece));
                if (read < end - start) {
                    stop(piece, read, thread.io().errno());
                }
            } catch (RuntimeException | Error e) {
                fail(piece, e);
            }
            arrived(copy, piece, host, read);
        }
    }

    @Override
    public final void run(ThreadContext thread) {
        GatherCopy copy = gather;
        if (copy != null) {
            runGathered(thread, copy);
            return;
        }
        if (runStraight(thread) || !hasUnclaimed()) {
            return;
        }
        long bytes = plan().slabBytes();
        try {
            if (!enter(thread, bytes)) {
                return;
            }
        } catch (RuntimeException | Error e) {
            stopNext(thread, e);
            return;
        }
        try {
            if (plan().isWrite()) {
                writePieces(thread, bytes);
            } else {
                readPieces(thread, bytes);
            }
        } finally {
            thread.slots().leave();
        }
    }

    /** Moves pieces without slabs; returns false if that cannot be. */
    boolean runStraight(ThreadContext thread) {
        return false;
    }

    /**
     * Takes slots of a thread.
     *
     * @param bytes of a slab
     * @return false if the request is over
     */
    abstract boolean enter(ThreadContext thread, long bytes);

    /**
     * Starts to copy a piece between a slab and memory, in the direction of the request.
     *
     * @param host its bytes, in the slab
     * @param bytes to copy
     */
    abstract void copy(ThreadContext thread, CopySlots.Slot slot, long piece, long host, long bytes);

    /** Claims and reads pieces: a slab is filled from the file while the one before it is copied to memory. */
    private void readPieces(ThreadContext thread, long bytes) {
        for (long piece = claim(thread); piece >= 0; piece = claim(thread)) {
            try {
                read(thread, piece, bytes);
            } catch (RuntimeException | Error e) {
                fail(piece, e);
            }
        }
    }

    private void read(ThreadContext thread, long piece, long bytes) {
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        CopySlots.Slot slot = thread.slots().next(bytes);
        long host = hostAddress(slot, start);
        long read = thread.io().move(request().file(), plan(), start, end, host, null, 0, cancellation(piece));
        if (read > 0) {
            copy(thread, slot, piece, host, read);
        }
        if (read < end - start) {
            stop(piece, read, thread.io().errno());
        }
    }

    /** Claims and writes pieces: a slab is filled while the one before it is written to the file. */
    private void writePieces(ThreadContext thread, long bytes) {
        boolean ahead = pieces() > 1 && thread.slots().hasTwo(bytes);
        long piece = claim(thread);
        CopySlots.Slot slot = fill(thread, piece, bytes);
        while (piece >= 0) {
            long following = ahead ? claim(thread) : -1;
            CopySlots.Slot second = fill(thread, following, bytes);
            store(thread, slot, piece);
            if (!ahead) {
                following = claim(thread);
                second = fill(thread, following, bytes);
            }
            piece = following;
            slot = second;
        }
    }

    /** Starts to fill the next slab; null if there is no piece, or it failed. */
    private CopySlots.@Nullable Slot fill(ThreadContext thread, long piece, long bytes) {
        if (piece < 0) {
            return null;
        }
        try {
            CopySlots.Slot slot = thread.slots().next(bytes);
            long start = plan().pieceStart(piece);
            copy(thread, slot, piece, hostAddress(slot, start), plan().pieceEnd(piece) - start);
            return slot;
        } catch (RuntimeException | Error e) {
            fail(piece, e);
            return null;
        }
    }

    private void store(ThreadContext thread, CopySlots.@Nullable Slot slot, long piece) {
        if (slot == null) {
            return;
        }
        thread.slots().await(slot);
        if (isEnded(piece)) {
            return;
        }
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        try {
            long written = thread.io().move(
                    request().file(), plan(), start, end, hostAddress(slot, start), cancellation(piece));
            if (written < end - start) {
                stop(piece, written, thread.io().errno());
            }
        } catch (RuntimeException | Error e) {
            fail(piece, e);
        }
    }

    /** Returns where in a slab the byte of the file is that a piece starts with. */
    private static long hostAddress(CopySlots.Slot slot, long start) {
        return slot.address() + CopySlots.skew(start);
    }

    @Override
    public final void failed(long piece, RuntimeException cause) {
        fail(piece, cause);
    }
}
