package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.staging.CopyPipeline;
import org.jspecify.annotations.Nullable;

/** Writes from GPU memory: a slab is filled from the GPU while the slab before it is written to the file. */
public final class DeviceWrite extends DeviceTransfer {
    public DeviceWrite(TransferRequest request) {
        super(request);
    }

    @Override
    void movePieces(ThreadContext thread, CopyPipeline pipeline, long bytes) {
        boolean ahead = pieces() > 1 && pipeline.hasTwo(bytes);
        long piece = claim(thread);
        CopyPipeline.Slot slot = fetch(pipeline, piece, bytes);
        while (piece >= 0) {
            long following = ahead ? claim(thread) : -1;
            CopyPipeline.Slot second = fetch(pipeline, following, bytes);
            store(thread, pipeline, slot, piece);
            if (!ahead) {
                following = claim(thread);
                second = fetch(pipeline, following, bytes);
            }
            piece = following;
            slot = second;
        }
    }

    private CopyPipeline.@Nullable Slot fetch(CopyPipeline pipeline, long piece, long bytes) {
        if (piece < 0) {
            return null;
        }
        try {
            CopyPipeline.Slot slot = pipeline.next(bytes);
            long start = plan().pieceStart(piece);
            long length = plan().pieceEnd(piece) - start;
            pipeline.copyOut(slot, deviceAddress(start), hostAddress(slot, start), length, piece);
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

    @Override
    String systemCall() {
        return "pwrite";
    }
}
