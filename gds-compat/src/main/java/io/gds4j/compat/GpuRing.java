package io.gds4j.compat;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaErrors;
import org.jspecify.annotations.Nullable;

/**
 * A stream of our own in one CUDA context, and a few slots that take turns: while the copy engine works on one slab, the disk
 * fills or drains the next. A copy is complete when its slot's event says so; nothing else is relied on.
 *
 * <p>
 * Every method but {@link #close} runs with the context current.
 */
final class GpuRing {
    /** Slabs in turn: one is filled while one is copied, and one takes up the jitter. */
    static final int DEPTH = 3;

    private final Cuda cuda;
    private final BouncePool pool;
    private final long context;
    private final long contextId;
    private final Slot[] slots = new Slot[DEPTH];
    private final long[] out = new long[1];
    private long stream;
    private boolean ready;
    private int turn;
    private int held;
    private boolean broken;

    /** A slab, and the copy that may be using it. */
    static final class Slot {
        private long event;
        private @Nullable Slab slab;
        private boolean busy;
        private long piece;

        /** The slab that the holder of the slot works on. */
        Slab slab() {
            if (slab == null) {
                throw new IllegalStateException("the slot has no slab");
            }
            return slab;
        }
    }

    GpuRing(Cuda cuda, BouncePool pool, long context, long contextId) {
        this.cuda = cuda;
        this.pool = pool;
        this.context = context;
        this.contextId = contextId;
        for (int i = 0; i < DEPTH; i++) {
            slots[i] = new Slot();
        }
    }

    long contextId() {
        return contextId;
    }

    /** Takes the first slab; may wait, so it is called before the context is pushed. */
    void takeFirstSlab(long bytes) {
        slots[0].slab = pool.acquire(bytes, true);
        held = 1;
        turn = 0;
        broken = false;
    }

    /** Makes the stream and the events, once. */
    void prepare() {
        if (!ready) {
            CudaErrors.check(cuda, "cuStreamCreate", cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING));
            stream = out[0];
            for (Slot slot : slots) {
                int flags = Cuda.EVENT_DISABLE_TIMING | Cuda.EVENT_BLOCKING_SYNC;
                CudaErrors.check(cuda, "cuEventCreate", cuda.eventCreate(out, flags));
                slot.event = out[0];
            }
            ready = true;
        }
    }

    /** True if a second piece can be taken up while the first is still at work. */
    boolean hasTwo(long bytes) {
        if (held < 2) {
            more(bytes);
        }
        return held > 1;
    }

    private void more(long bytes) {
        Slab slab = pool.tryAcquire(bytes, true);
        if (slab != null) {
            slots[held++].slab = slab;
        }
    }

    /** The slot whose turn it is, its former copy complete; null once the context no longer works. */
    @Nullable
    Slot next(Transfer transfer, long bytes) {
        if (broken) {
            return null;
        }
        if (turn == held && held < DEPTH) {
            more(bytes);
        }
        if (turn >= held) {
            turn = 0;
        }
        Slot slot = slots[turn++];
        await(transfer, slot);
        return broken ? null : slot;
    }

    /** Waits for a slot's copy; a failure is noted as that of its piece. */
    boolean await(Transfer transfer, Slot slot) {
        if (!slot.busy) {
            return true;
        }
        slot.busy = false;
        int result = cuda.eventSynchronize(slot.event);
        if (result != Cuda.SUCCESS) {
            transfer.stop(slot.piece, 0, 0, CudaErrors.failure(cuda, "cuEventSynchronize", result).build());
            settle(slot);
            return false;
        }
        return true;
    }

    /** Starts copying a slab to the GPU, on behalf of a piece. */
    void copyIn(Transfer transfer, Slot slot, long from, long to, long bytes, long piece) {
        int result = cuda.memcpyHtoDAsync(to, from, bytes, stream);
        begun(transfer, slot, piece, result, "cuMemcpyHtoDAsync");
    }

    /** Starts copying from the GPU to a slab, on behalf of a piece. */
    void copyOut(Transfer transfer, Slot slot, long from, long to, long bytes, long piece) {
        int result = cuda.memcpyDtoHAsync(to, from, bytes, stream);
        begun(transfer, slot, piece, result, "cuMemcpyDtoHAsync");
    }

    private void begun(Transfer transfer, Slot slot, long piece, int copied, String call) {
        slot.piece = piece;
        if (copied != Cuda.SUCCESS) {
            transfer.stop(piece, 0, 0, CudaErrors.failure(cuda, call, copied).build());
            return;
        }
        int recorded = cuda.eventRecord(slot.event, stream);
        if (recorded == Cuda.SUCCESS) {
            slot.busy = true;
            return;
        }
        transfer.stop(piece, 0, 0, CudaErrors.failure(cuda, "cuEventRecord", recorded).build());
        settle(slot);
    }

    /** After a failure: a copy that cannot be waited for may still touch the slab, so nobody gets it again. */
    private void settle(Slot slot) {
        Slab slab = slot.slab;
        if (slab != null && cuda.streamSynchronize(stream) != Cuda.SUCCESS) {
            pool.abandon(slab);
            slot.slab = null;
            broken = true;
        }
    }

    /** Waits for all copies. */
    void drain(Transfer transfer) {
        for (Slot slot : slots) {
            await(transfer, slot);
        }
    }

    /** Gives the slabs back; after {@link #drain}. */
    void giveBack() {
        for (Slot slot : slots) {
            Slab slab = slot.slab;
            if (slab != null) {
                slot.slab = null;
                pool.release(slab);
            }
        }
        held = 0;
    }

    /** For answers that nobody reads. */
    long[] scratch() {
        return out;
    }

    /** Frees stream and events; a context that is gone took them along. */
    void close() {
        if (ready && cuda.ctxPushCurrent(context) == Cuda.SUCCESS) {
            for (Slot slot : slots) {
                cuda.eventDestroy(slot.event);
            }
            cuda.streamDestroy(stream);
            cuda.ctxPopCurrent(out);
        }
        ready = false;
    }
}
