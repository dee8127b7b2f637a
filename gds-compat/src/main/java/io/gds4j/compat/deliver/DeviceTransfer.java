package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.staging.CopySlots;
import io.gds4j.engine.staging.CopySlots.CopyBy;
import io.gds4j.engine.staging.GatherCopy;
import io.gds4j.engine.staging.PreparedGpu;
import org.jspecify.annotations.Nullable;

/** Moves bytes between a file and memory that only the GPU's driver reaches, through slabs. */
public final class DeviceTransfer extends StagedTransfer {
    private @Nullable PreparedGpu gpu;
    private boolean byProcessor;

    public DeviceTransfer(TransferRequest request) {
        super(request);
    }

    /**
     * Sets how to reach the request's memory.
     *
     * @param ofMemory the context of the memory
     * @param copiedByProcessor whether processors copy, as {@link CopyBy#PROCESSOR} says
     */
    public void target(PreparedGpu ofMemory, boolean copiedByProcessor) {
        byProcessor = copiedByProcessor;
        gpu = ofMemory;
    }

    @Override
    public void open(ThreadContext thread) {
        super.open(thread);
        if (plan().isGathered()) {
            gather(thread, gpu(), pieces());
        }
    }

    @Override
    public void end() {
        super.end();
        gpu = null;
    }

    private PreparedGpu gpu() {
        PreparedGpu known = gpu;
        if (known == null) {
            throw new IllegalStateException("no CUDA context");
        }
        return known;
    }

    @Override
    boolean enter(ThreadContext thread, long bytes) {
        return thread.one().enter(this, gpu(), bytes, pieces(), byProcessor ? CopyBy.PROCESSOR : CopyBy.ENGINE);
    }

    @Override
    void copy(ThreadContext thread, CopySlots.Slot slot, long piece, long host, long bytes) {
        if (plan().isWrite()) {
            thread.one().copyOut(slot, deviceAddress(piece), host, bytes, piece);
        } else {
            thread.one().copyIn(slot, host, deviceAddress(piece), bytes, piece);
        }
    }

    @Override
    void arrived(GatherCopy copy, long piece, long host, long read) {
        copy.arrived(piece, host, deviceAddress(piece), read);
    }

    /** Returns the GPU address of a piece. */
    private long deviceAddress(long piece) {
        return request().address() + (plan().pieceStart(piece) - plan().offset());
    }

    @Override
    public boolean usesGpu() {
        return true;
    }
}
