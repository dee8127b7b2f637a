package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.staging.CopyPipeline;
import org.jspecify.annotations.Nullable;

/** Gathers pieces in slabs from memory of the host and of several GPUs; one is gathered while the one before it is written. */
public final class ScatterWrite extends ScatterTransfer {
    /** @param worker one of the workers that may help; null if there is none */
    public ScatterWrite(TransferRequest request, @Nullable Thread worker) {
        super(request, worker);
    }

    @Override
    void movePieces(ThreadContext thread, CopyPipeline pipeline, long bytes) {
        boolean ahead = pieces() > 1 && pipeline.hasTwo(bytes);
        long piece = claim(thread);
        CopyPipeline.Slot slot = gather(pipeline, piece, bytes);
        while (piece >= 0) {
            long following = ahead ? claim(thread) : -1;
            CopyPipeline.Slot second = gather(pipeline, following, bytes);
            store(thread, pipeline, slot, piece);
            if (!ahead) {
                following = claim(thread);
                second = gather(pipeline, following, bytes);
            }
            piece = following;
            slot = second;
        }
    }

    /** Starts to copy the rows of a piece into a slab; null if there is no piece, or it failed. */
    private CopyPipeline.@Nullable Slot gather(CopyPipeline pipeline, long piece, long bytes) {
        if (piece < 0) {
            return null;
        }
        try {
            CopyPipeline.Slot slot = pipeline.next(bytes);
            long start = plan().pieceStart(piece);
            long length = plan().pieceEnd(piece) - start;
            long host = hostAddress(slot, start);
            long from = start - plan().offset();
            for (int gpu = 0; gpu < gpus(); gpu++) {
                copyFromGpu(pipeline, slot, gpu, piece, host, from, length);
            }
            copyHostRows(host, from, length);
            return slot;
        } catch (RuntimeException | Error e) {
            fail(piece, e);
            return null;
        }
    }

    private void copyFromGpu(
            CopyPipeline pipeline, CopyPipeline.Slot slot, int gpu, long piece, long host, long from,
            long length) {
        boolean begun = false;
        try {
            for (int i = 0; i < copies().size(); i++) {
                if (takesPart(i, gpu, from, length)) {
                    if (!begun) {
                        pipeline.begin(gpu, slot, false);
                        begun = true;
                    }
                    copyRows(pipeline, gpu, copies().get(i), host, from, length);
                }
            }
        } finally {
            if (begun) {
                try {
                    pipeline.endOfSlot(slot, gpu, piece, length);
                } finally {
                    pipeline.end();
                }
            }
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

    @Override
    String systemCall() {
        return "pwrite";
    }
}
