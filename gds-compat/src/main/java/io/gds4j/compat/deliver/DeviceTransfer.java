package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GpuContext;
import org.jspecify.annotations.Nullable;

/** Moves bytes between a file and memory that only the GPU's driver reaches, through slabs. */
public abstract non-sealed class DeviceTransfer extends StagedTransfer {
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
    final boolean enter(CopyPipeline pipeline, long bytes) {
        return pipeline.enter(this, context(), bytes, pieces(), byProcessor);
    }

    /** Returns the GPU address of a byte of the file. */
    final long deviceAddress(long position) {
        return request().address() + (position - plan().offset());
    }

    @Override
    public final boolean usesGpu() {
        return true;
    }
}
