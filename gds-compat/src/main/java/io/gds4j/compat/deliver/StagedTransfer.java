package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.staging.CopyPipeline;
import org.jspecify.annotations.Nullable;

/** Moves pieces between the file and slabs, and between slabs and memory: each thread by the pipeline of its own. */
public abstract sealed class StagedTransfer extends Transfer implements CopyPipeline.PieceFailures
        permits DeviceTransfer, ScatterTransfer {
    StagedTransfer(TransferRequest request) {
        super(request);
    }

    /** What brings the bytes of a write from memory into slabs. */
    interface Filling {
        /** Starts to copy a piece from memory into a slab. */
        void fill(CopyPipeline pipeline, CopyPipeline.Slot slot, long piece);
    }

    @Override
    public void run(ThreadContext thread) {
        if (!hasUnclaimed()) {
            return;
        }
        long bytes = plan().slabBytes();
        CopyPipeline pipeline = thread.pipeline();
        try {
            if (!enter(pipeline, bytes)) {
                return;
            }
        } catch (RuntimeException | Error e) {
            stopNext(thread, e);
            return;
        }
        try {
            movePieces(thread, pipeline, bytes);
        } finally {
            pipeline.leave();
        }
    }

    /**
     * Enters the pipeline.
     *
     * @param bytes of a slab
     * @return false if the request is over
     */
    abstract boolean enter(CopyPipeline pipeline, long bytes);

    /**
     * Claims and moves pieces until there are none left.
     *
     * @param bytes of a slab
     */
    abstract void movePieces(ThreadContext thread, CopyPipeline pipeline, long bytes);

    /** Claims and writes pieces: a slab is filled while the one before it is written to the file. */
    final void writePieces(ThreadContext thread, CopyPipeline pipeline, long bytes, Filling filling) {
        boolean ahead = pieces() > 1 && pipeline.hasTwo(bytes);
        long piece = claim(thread);
        CopyPipeline.Slot slot = fill(pipeline, piece, bytes, filling);
        while (piece >= 0) {
            long following = ahead ? claim(thread) : -1;
            CopyPipeline.Slot second = fill(pipeline, following, bytes, filling);
            store(thread, pipeline, slot, piece);
            if (!ahead) {
                following = claim(thread);
                second = fill(pipeline, following, bytes, filling);
            }
            piece = following;
            slot = second;
        }
    }

    /** Starts to fill the next slab; null if there is no piece, or it failed. */
    private CopyPipeline.@Nullable Slot fill(CopyPipeline pipeline, long piece, long bytes, Filling filling) {
        if (piece < 0) {
            return null;
        }
        try {
            CopyPipeline.Slot slot = pipeline.next(bytes);
            filling.fill(pipeline, slot, piece);
            return slot;
        } catch (RuntimeException | Error e) {
            fail(piece, e);
            return null;
        }
    }

    private void store(ThreadContext thread, CopyPipeline pipeline, CopyPipeline.@Nullable Slot slot, long piece) {
        if (slot == null || !pipeline.await(slot) || isEnded(piece)) {
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
    static long hostAddress(CopyPipeline.Slot slot, long start) {
        return slot.slab().address() + CopyPipeline.skew(start);
    }

    @Override
    public final void failed(long piece, RuntimeException cause) {
        fail(piece, cause);
    }
}
