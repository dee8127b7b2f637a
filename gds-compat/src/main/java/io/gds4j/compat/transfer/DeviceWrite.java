package io.gds4j.compat.transfer;

import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GpuContext;
import org.jspecify.annotations.Nullable;

/** Writes from memory that only the GPU's driver reaches: the next piece comes from the GPU while one goes to the file. */
final class DeviceWrite extends Transfer implements CopyPipeline.PieceFailures {
    private @Nullable GpuContext context;
    private boolean byProcessor;

    DeviceWrite(TransferRequest request) {
        super(request);
    }

    /**
     * Sets what to write.
     *
     * @param memoryContext the context of the memory
     * @param copiedByProcessor as {@link CopyPipeline#copyByProcessor}
     */
    void source(GpuContext memoryContext, boolean copiedByProcessor) {
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
        } finally {
            pipeline.leave();
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
            long host = slot.slab().address() + CopyPipeline.skew(start);
            pipeline.copyOut(slot, request().address() + (start - plan().offset()), host, length, piece);
            return slot;
        } catch (RuntimeException e) {
            stop(piece, 0, 0, e);
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
            long host = slot.slab().address() + CopyPipeline.skew(start);
            long written = thread.io().move(descriptors(), plan(), start, end, host);
            if (written < end - start) {
                stop(piece, written, thread.io().errno(), null);
            }
        } catch (RuntimeException e) {
            stop(piece, 0, 0, e);
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
        return "pwrite";
    }
}
