package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.staging.CopyPipeline;

/** Writes from GPU memory: a slab is filled from the GPU while the slab before it is written to the file. */
public final class DeviceWrite extends DeviceTransfer implements StagedTransfer.Filling {
    public DeviceWrite(TransferRequest request) {
        super(request);
    }

    @Override
    void movePieces(ThreadContext thread, CopyPipeline pipeline, long bytes) {
        writePieces(thread, pipeline, bytes, this);
    }

    @Override
    public void fill(CopyPipeline pipeline, CopyPipeline.Slot slot, long piece) {
        long start = plan().pieceStart(piece);
        long length = plan().pieceEnd(piece) - start;
        pipeline.copyOut(slot, deviceAddress(start), hostAddress(slot, start), length, piece);
    }

    @Override
    String systemCall() {
        return "pwrite";
    }
}
