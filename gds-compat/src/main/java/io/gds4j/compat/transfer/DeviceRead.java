package io.gds4j.compat.transfer;

import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GpuContext;
import org.jspecify.annotations.Nullable;

/** Reads into memory that only the GPU's driver reaches: file to slab, slab to GPU, several pieces at a time. */
final class DeviceRead extends Transfer implements CopyPipeline.PieceFailures {
    private @Nullable GpuContext context;
    private boolean byProcessor;

    DeviceRead(TransferRequest request) {
        super(request);
    }

    /**
     * Sets what to fill.
     *
     * @param memoryContext the context of the memory
     * @param copiedByProcessor as {@link CopyPipeline#copyByProcessor}
     */
    void target(GpuContext memoryContext, boolean copiedByProcessor) {
        byProcessor = copiedByProcessor;
        context = memoryContext;
    }

    @Override
    void end() {
        super.end();
        context = null;
    }

    @Override
    void run(ThreadContext thread) {
        if (!hasUnclaimed()) {
            return;
        }
        CopyPipeline pipeline = thread.pipeline(context);
        long bytes = plan().slabBytes();
        try {
            pipeline.enter(this, bytes, pieces());
        } catch (RuntimeException e) {
            stopNext(thread, e);
            return;
        }
        pipeline.copyByProcessor(byProcessor);
        try {
            long piece = claim(thread);
            while (piece >= 0) {
                try {
                    move(thread, pipeline, piece, bytes);
                } catch (RuntimeException e) {
                    stop(piece, 0, 0, e);
                }
                piece = claim(thread);
            }
        } finally {
            pipeline.leave();
        }
    }

    private void move(ThreadContext thread, CopyPipeline pipeline, long piece, long bytes) {
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        CopyPipeline.Slot slot = pipeline.next(bytes);
        long host = slot.slab().address() + CopyPipeline.skew(start);
        long read = thread.io().move(descriptors(), plan(), start, end, host);
        if (read > 0) {
            pipeline.copyIn(slot, host, request().address() + (start - plan().offset()), read, piece);
        }
        if (read < end - start) {
            stop(piece, read, thread.io().errno(), null);
        }
    }

    @Override
    public void failed(long piece, RuntimeException cause) {
        stop(piece, 0, 0, cause);
    }

    @Override
    boolean usesGpu() {
        return true;
    }

    @Override
    String systemCall() {
        return "pread";
    }
}
