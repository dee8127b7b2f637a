package io.gds4j.engine.staging;

import io.gds4j.engine.staging.CopySlots.CopyBy;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.List;

/**
 * Copies between slots and memory of several CUDA contexts. Each is current for the copies of one slot, between {@link #begin} and
 * {@link #end}. Used by one thread.
 */
public final class ManyContexts {
    private final CopySlots slots;
    private CopyBy by = CopyBy.KERNEL;

    /** The context that is current, and the direction of its copies. */
    private int target;
    private boolean toGpu;

    /** Bytes to or from the context that is current, since {@link #begin}. */
    private long bytesOfSlot;

    public ManyContexts(CopySlots slots) {
        this.slots = slots;
    }

    /**
     * Takes lanes to the contexts and a slab, for each of which it may wait. No context is current until {@link #begin}.
     *
     * @param listener receives each piece that fails until {@link CopySlots#leave}
     * @param destinations none for host memory only
     * @param bytes size of the largest piece, including {@link CopySlots#skew}
     * @param pieces number of pieces that may be under way, 1 to {@link CopySlots#DEPTH}
     * @param copies {@link CopyBy#ENGINE} or {@link CopyBy#KERNEL}
     * @return false if the request is over; nothing is taken then
     * @throws io.gds4j.error.CuFileException if this fails; nothing is taken then
     */
    public boolean enter(
            PieceFailures listener, List<PreparedGpu> destinations, long bytes, int pieces, CopyBy copies) {
        slots.begin(pieces);
        for (int i = 0; i < destinations.size(); i++) {
            slots.add(destinations.get(i));
        }
        boolean entered = slots.take(listener, bytes, copies);
        if (entered && pieces > 1 && destinations.size() > 1) {
            slots.halve(bytes);
        }
        by = copies;
        return entered;
    }

    /**
     * Makes a context current, for copies between a slot and its memory; {@link #endOfSlot} and {@link #end} follow.
     *
     * @param intoGpu false for copies from the GPU
     * @throws io.gds4j.error.CuFileException if this fails; the context is not current then
     */
    public void begin(int context, CopySlots.Slot slot, boolean intoGpu) {
        slot.slab();
        target = context;
        toGpu = intoGpu;
        bytesOfSlot = 0;
        slots.pushed(slots.lane(context));
        slots.collect(context, slot, intoGpu, by);
    }

    /** Copies contiguous bytes to or from the context that is current, now or at the {@link #endOfSlot end}. */
    public void copyFragment(long from, long to, long bytes) {
        bytesOfSlot += bytes;
        CudaErrors.check(slots.cuda(), "cuMemcpyAsync", slots.fragments().add(from, to, bytes));
    }

    /** Starts to copy rows to or from the context that is current. */
    public void copyRows(long from, long fromPitch, long to, long toPitch, long width, long rows) {
        if (Math.max(fromPitch, toPitch) > Cuda.MAX_PITCH) {
            for (long row = 0; row < rows; row++) {
                copyFragment(from + row * fromPitch, to + row * toPitch, width);
            }
            return;
        }
        bytesOfSlot += width * rows;
        copyByEngine();
        Cuda cuda = slots.cuda();
        long stream = slots.lane(target).stream();
        int result = toGpu
                ? cuda.memcpy2DHtoDAsync(to, toPitch, from, fromPitch, width, rows, stream)
                : cuda.memcpy2DDtoHAsync(to, toPitch, from, fromPitch, width, rows, stream);
        CudaErrors.check(cuda, "cuMemcpy2DAsync", result);
    }

    /** Has a copy engine make all copies of the slot, so that copies to peers may follow them in the stream. */
    public void copyByEngine() {
        CudaErrors.check(slots.cuda(), "cuMemcpyAsync", slots.fragments().byEngine());
    }

    /** Ends the copies of a slot to or from the context that is current. Copies to peers may follow, for which the slot does not wait. */
    public void endOfSlot(CopySlots.Slot slot, long piece) {
        slot.holds(piece);
        int result = slots.fragments().end(bytesOfSlot, false);
        if (result != Cuda.SUCCESS) {
            slots.failed(slot, slots.lane(target), "cuMemcpyAsync", result);
        }
    }

    /** Starts to copy bytes that have been copied to the current context from there to another one; {@link CopySlots#leave} waits. */
    public void copyToPeer(long from, int peer, long to, long bytes, long piece) {
        CudaErrors.check(slots.cuda(), "cuMemcpyPeerAsync",
                slots.lane(target).toPeer(slots.gpu(peer).handle(), to, from, bytes, piece));
    }

    /** Restores the context from before {@link #begin}. */
    public void end() {
        slots.contexts().leave();
    }
}
