package io.gds4j.compat.transfer;

import io.gds4j.engine.staging.CopyPipeline;

/** Reads into GPU memory: a slab is filled from the file while the slab before it is copied to the GPU. */
final class DeviceRead extends DeviceTransfer {
    DeviceRead(TransferRequest request) {
        super(request);
    }

    @Override
    void movePieces(ThreadContext thread, CopyPipeline pipeline, long bytes) {
        long piece = claim(thread);
        while (piece >= 0) {
            try {
                move(thread, pipeline, piece, bytes);
            } catch (RuntimeException | OutOfMemoryError e) {
                stop(piece, 0, 0, e);
            }
            piece = claim(thread);
        }
    }

    private void move(ThreadContext thread, CopyPipeline pipeline, long piece, long bytes) {
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        CopyPipeline.Slot slot = pipeline.next(bytes);
        long host = hostAddress(slot, start);
        long read = thread.io().move(request().file(), plan(), start, end, host, cancellation(piece));
        if (read > 0) {
            pipeline.copyIn(slot, host, deviceAddress(start), read, piece);
        }
        if (read < end - start) {
            stop(piece, read, thread.io().errno(), null);
        }
    }

    @Override
    String systemCall() {
        return "pread";
    }
}
