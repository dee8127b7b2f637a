package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferPlan;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.staging.GatherCopy;
import io.gds4j.engine.staging.GpuContext;
import io.gds4j.error.CuFileException;
import org.jspecify.annotations.Nullable;

/** Serves a read whose pieces one kernel copies to a GPU, as threads read them into slabs. */
final class Gathering {
    private final StagedTransfer transfer;
    private final Delivery delivery;

    /** Copies all pieces of this request; null if each thread copies its own. */
    private @Nullable GatherCopy gather;

    /** The byte of the file that is first in the slabs. */
    private long origin;

    /** Tells the kernel where a piece goes. */
    interface Delivery {
        /**
         * A piece was read.
         *
         * @param host its bytes, in a slab
         * @param read its bytes that were read; 0 if that failed
         */
        void arrived(GatherCopy copy, long piece, long host, long read);
    }

    Gathering(StagedTransfer transfer, Delivery delivery) {
        this.transfer = transfer;
        this.delivery = delivery;
    }

    /**
     * Begins if the plan says so, and the kernel and slabs are there.
     *
     * @param places number of copies that the {@link Delivery} tells the kernel of
     */
    void begin(ThreadContext thread, GpuContext context, long places) {
        TransferPlan plan = transfer.plan();
        if (!plan.isGathered() || places > PieceBoard.PIECES) {
            return;
        }
        GatherCopy copy = thread.gather(context);
        try {
            if (copy.begin(transfer, (int) places, transfer.pieces() * plan.pieceSize())) {
                origin = TransferPlan.roundDown(plan.offset(), plan.pieceSize());
                gather = copy;
            }
        } catch (CuFileException | OutOfMemoryError e) {
            // each thread copies its own pieces, and reports a failure with the piece
        }
    }

    /** Waits for the kernel if this has begun. */
    void settle() {
        GatherCopy copy = gather;
        if (copy != null) {
            gather = null;
            copy.settle(transfer);
        }
    }

    /** Reads pieces until there are none left. Returns false if this has not begun. */
    boolean run(ThreadContext thread) {
        GatherCopy copy = gather;
        if (copy == null) {
            return false;
        }
        if (transfer.isOwner(thread)) {
            // Now, not before workers are woken: they take longer to come than the kernel.
            copy.launch();
        }
        for (long piece = transfer.claim(thread); piece >= 0; piece = transfer.claim(thread)) {
            read(thread, copy, piece);
        }
        return true;
    }

    private void read(ThreadContext thread, GatherCopy copy, long piece) {
        TransferPlan plan = transfer.plan();
        long start = plan.pieceStart(piece);
        long end = plan.pieceEnd(piece);
        long host = copy.place(start - origin);
        long read = 0;
        try {
            read = thread.io().move(
                    transfer.request().file(), plan, start, end, host, transfer.cancellation(piece));
            if (read < end - start) {
                transfer.stop(piece, read, thread.io().errno());
            }
        } catch (RuntimeException | Error e) {
            transfer.fail(piece, e);
        }
        delivery.arrived(copy, piece, host, read);
    }
}
