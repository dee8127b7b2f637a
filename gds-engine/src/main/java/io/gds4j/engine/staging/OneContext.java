package io.gds4j.engine.staging;

import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.engine.staging.CopySlots.CopyBy;
import io.gds4j.ffi.cuda.Cuda;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Copies pieces between slots and the memory of one CUDA context, which is current between {@link #enter} and {@link CopySlots#leave}. Used by
 * one thread.
 */
public final class OneContext {
    private final CopySlots slots;
    private CopyBy by = CopyBy.ENGINE;
    private boolean single;

    /** The parts of the newest slot that have been added; null before the first. */
    private @Nullable FragmentCopies parts;

    public OneContext(CopySlots slots) {
        this.slots = slots;
    }

    /**
     * Takes a lane and a slab, for both of which it may wait, and then makes the context current. Needs nothing of the driver if processors
     * copy.
     *
     * @param listener receives each piece that fails until {@link CopySlots#leave}
     * @param bytes size of the largest piece, including {@link CopySlots#skew}
     * @param pieces number of pieces of the transfer: the small copy of a single piece is waited for at once
     * @param copies {@link CopyBy#PROCESSOR} if processors make all copies
     * @return false if the request is over; nothing is taken then
     * @throws io.gds4j.error.CuFileException if this fails; nothing is taken then
     */
    public boolean enter(
            PieceFailures listener, PreparedGpu gpu, long bytes, long pieces, CopyBy copies) {
        slots.begin(CopySlots.DEPTH);
        slots.add(gpu);
        if (!slots.take(listener, bytes, copies)) {
            return false;
        }
        if (copies != CopyBy.PROCESSOR) {
            slots.enterContext();
        }
        single = pieces == 1;
        by = copies;
        parts = null;
        return true;
    }

    /** Returns the context. */
    public PreparedGpu gpu() {
        return slots.gpu(0);
    }

    /** Starts to copy a piece from a slab to the GPU. */
    public void copyIn(CopySlots.Slot slot, long from, long to, long bytes, long piece) {
        int result = Cuda.SUCCESS;
        if (by == CopyBy.PROCESSOR) {
            copy(to, from, bytes);
        } else {
            result = slots.lane(0).toGpu(to, from, bytes, slots.waits());
        }
        started(slot, piece, bytes, "cuMemcpyHtoDAsync", result);
    }

    /** Starts to copy a piece from the GPU to a slab. */
    public void copyOut(CopySlots.Slot slot, long from, long to, long bytes, long piece) {
        int result = Cuda.SUCCESS;
        if (by == CopyBy.PROCESSOR) {
            copy(to, from, bytes);
        } else {
            result = slots.lane(0).toHost(to, from, bytes);
        }
        started(slot, piece, bytes, "cuMemcpyDtoHAsync", result);
    }

    private static void copy(long to, long from, long bytes) {
        MemorySegment.copy(
                HostMemoryViews.ofAddress(from, bytes), 0, HostMemoryViews.ofAddress(to, bytes), 0, bytes);
    }

    private void started(CopySlots.Slot slot, long piece, long bytes, String call, int copied) {
        slot.holds(piece);
        if (by == CopyBy.PROCESSOR) {
            return;
        }
        CopyLane lane = slots.lane(0);
        if (copied != Cuda.SUCCESS) {
            slots.failed(slot, lane, call, copied);
        } else if (bytes <= TransferCosts.COPY_SPIN_BYTES && single) {
            slots.synchronize(slot, lane, bytes);
        } else {
            slots.record(slot, lane, bytes);
        }
    }

    /**
     * Copies a part of the newest slot to the GPU, now or at the {@link #endOfParts end}, and returns the {@code CUresult}. The request has not
     * been entered for processors only.
     */
    public int copyPart(long from, long to, long bytes, CopyBy copies) {
        if (copies == CopyBy.PROCESSOR) {
            copy(to, from, bytes);
            return Cuda.SUCCESS;
        }
        FragmentCopies begun = parts;
        if (begun == null) {
            begun = slots.collect(0, slots.newest(), true, copies);
            parts = begun;
        }
        int result = copies == CopyBy.KERNEL ? Cuda.SUCCESS : begun.byEngine();
        return result == Cuda.SUCCESS ? begun.add(from, to, bytes) : result;
    }

    /**
     * Ends the parts of a piece; waits for those of a single piece.
     *
     * @param bytes of all parts
     */
    public void endOfParts(CopySlots.Slot slot, long bytes, long piece) {
        slot.holds(piece);
        CopyLane lane = slots.lane(0);
        FragmentCopies begun = parts;
        if (begun != null) {
            parts = null;
            int result = begun.end(bytes, single);
            if (result != Cuda.SUCCESS) {
                slots.failed(slot, lane, "cuMemcpyHtoDAsync", result);
            }
        } else if (!single) {
            slots.record(slot, lane, bytes);
        }
        if (single && lane.isBusy(slot.number())) {
            slots.await(slot); // for a kernel, which has a stream of its own
        } else if (single) {
            slots.synchronize(slot, lane, bytes);
            lane.free(slot.number());
        }
    }
}
