package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.staging.CopyPipeline;
import org.jspecify.annotations.Nullable;

/** Gathers pieces in slabs from memory of the host and of several GPUs; one is gathered while the one before it is written. */
public final class ScatterWrite extends ScatterTransfer implements StagedTransfer.Filling {
    /** @param worker one of the workers that may help; null if there is none */
    public ScatterWrite(TransferRequest request, @Nullable Thread worker) {
        super(request, worker);
    }

    @Override
    void movePieces(ThreadContext thread, CopyPipeline pipeline, long bytes) {
        writePieces(thread, pipeline, bytes, this);
    }

    @Override
    public void fill(CopyPipeline pipeline, CopyPipeline.Slot slot, long piece) {
        long start = plan().pieceStart(piece);
        long length = plan().pieceEnd(piece) - start;
        long host = hostAddress(slot, start);
        long from = start - plan().offset();
        for (int gpu = 0; gpu < gpus(); gpu++) {
            copyFromGpu(pipeline, slot, gpu, piece, host, from, length);
        }
        copyHostRows(host, from, length);
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

    @Override
    String systemCall() {
        return "pwrite";
    }
}
