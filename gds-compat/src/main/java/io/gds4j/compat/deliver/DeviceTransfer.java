package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GpuContext;
import org.jspecify.annotations.Nullable;

/** Moves bytes between a file and memory that only the GPU's driver reaches, through slabs. */
public abstract non-sealed class DeviceTransfer extends Transfer implements CopyPipeline.PieceFailures {
    private @Nullable GpuContext context;
    private boolean byProcessor;

    DeviceTransfer(TransferRequest request) {
        super(request);
    }

    /**
     * Sets how to reach the request's memory.
     *
     * @param memoryContext the context of the memory
     * @param copiedByProcessor whether processors copy, as {@link CopyPipeline#enter} says
     */
    public final void target(GpuContext memoryContext, boolean copiedByProcessor) {
        byProcessor = copiedByProcessor;
        context = memoryContext;
    }

    @Override
    public final void end() {
        super.end();
        context = null;
    }

    /** Returns the context of the memory. */
    final GpuContext context() {
        GpuContext known = context;
        if (known == null) {
            throw new IllegalStateException("no CUDA context");
        }
        return known;
    }

    @Override
    public void run(ThreadContext thread) {
        if (!hasUnclaimed()) {
            return;
        }
        long bytes = plan().slabBytes();
        CopyPipeline pipeline = thread.pipeline();
        try {
            if (!pipeline.enter(this, context(), bytes, pieces(), byProcessor)) {
                return;
            }
        } catch (RuntimeException | Error e) {
            stopNext(thread, e);
            return;
        }
        try {
            movePieces(thread, pipeline, bytes);
        } finally {
            pipeline.leave();
        }
    }

    /**
     * Claims and moves pieces until there are none left.
     *
     * @param bytes of a slab
     */
    abstract void movePieces(ThreadContext thread, CopyPipeline pipeline, long bytes);

    /** Returns where in a slab the byte of the file is that a piece starts with. */
    static long hostAddress(CopyPipeline.Slot slot, long start) {
        return slot.slab().address() + CopyPipeline.skew(start);
    }

    /** Returns the GPU address of a byte of the file. */
    final long deviceAddress(long position) {
        return request().address() + (position - plan().offset());
    }

    @Override
    public final void failed(long piece, RuntimeException cause) {
        fail(piece, cause);
    }

    @Override
    public final boolean usesGpu() {
        return true;
    }
}
