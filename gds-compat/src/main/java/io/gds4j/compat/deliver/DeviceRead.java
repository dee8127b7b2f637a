package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GatherCopy;

/**
 * Reads into GPU memory: a slab is filled from the file while the slab before it is copied to the GPU. Of a request that is gathered, one
 * kernel copies all pieces.
 */
public final class DeviceRead extends DeviceTransfer {
    public DeviceRead(TransferRequest request) {
        super(request);
    }

    @Override
    public void open(ThreadContext thread) {
        super.open(thread);
        gather(thread, context(), pieces());
    }

    @Override
    void arrived(GatherCopy copy, long piece, long host, long read) {
        copy.arrived(piece, host, deviceAddress(plan().pieceStart(piece)), read);
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
