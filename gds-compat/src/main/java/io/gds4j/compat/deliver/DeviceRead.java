package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferPlan;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GatherCopy;
import io.gds4j.error.CuFileException;
import org.jspecify.annotations.Nullable;

/**
 * Reads into GPU memory: a slab is filled from the file while the slab before it is copied to the GPU. Of a request that is gathered, one
 * kernel copies all pieces.
 */
public final class DeviceRead extends DeviceTransfer {
    /** Copies all pieces of this request; null if each thread copies its own. */
    private @Nullable GatherCopy gather;

    /** The byte of the file that is first in the slabs. */
    private long origin;

    public DeviceRead(TransferRequest request) {
        super(request);
    }

    @Override
    public void open(ThreadContext thread) {
        super.open(thread);
        if (plan().isGathered() && pieces() <= PieceBoard.PIECES) {
            GatherCopy copy = thread.gather(context());
            long bytes = plan().pieceSize();
            try {
                if (copy.begin(this, (int) pieces(), bytes)) {
                    origin = TransferPlan.roundDown(plan().offset(), bytes);
                    gather = copy;
                }
            } catch (CuFileException | OutOfMemoryError e) {
                // each thread copies its own pieces, and reports a failure with the piece
            }
        }
    }

    @Override
    public void settle() {
        GatherCopy copy = gather;
        if (copy != null) {
            gather = null;
            copy.settle(this);
        }
    }

    @Override
    public void run(ThreadContext thread) {
        GatherCopy copy = gather;
        if (copy == null) {
            super.run(thread);
            return;
        }
        if (isOwner(thread)) {
            // Now, not before workers are woken: they take longer to come than the kernel.
            copy.launch();
        }
        for (long piece = claim(thread); piece >= 0; piece = claim(thread)) {
            gather(thread, copy, piece);
        }
    }

    private void gather(ThreadContext thread, GatherCopy copy, long piece) {
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        long host = copy.place(start - origin);
        long read = 0;
        try {
            read = thread.io().move(request().file(), plan(), start, end, host, null, 0, cancellation(piece));
            if (read < end - start) {
                stop(piece, read, thread.io().errno());
            }
        } catch (RuntimeException | Error e) {
            fail(piece, e);
        }
        copy.arrived(piece, host, deviceAddress(start), read);
    }

    @Override
    void movePieces(ThreadContext thread, CopyPipeline pipeline, long bytes) {
        long piece = claim(thread);
        while (piece >= 0) {
            try {
                move(thread, pipeline, piece, bytes);
            } catch (RuntimeException | Error e) {
                fail(piece, e);
            }
            piece = claim(thread);
        }
    }

    private void move(ThreadContext thread, CopyPipeline pipeline, long piece, long bytes) {
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        CopyPipeline.Slot slot = pipeline.next(bytes);
        long host = hostAddress(slot, start);
        long read = thread.io().move(request().file(), plan(), start, end, host, null, 0, cancellation(piece));
        if (read > 0) {
            pipeline.copyIn(slot, host, deviceAddress(start), read, piece);
        }
        if (read < end - start) {
            stop(piece, read, thread.io().errno());
        }
    }

    @Override
    String systemCall() {
        return "pread";
    }
}
