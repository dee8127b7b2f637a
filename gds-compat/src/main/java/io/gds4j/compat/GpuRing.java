package io.gds4j.compat;

import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.engine.staging.EngineCopies;
import io.gds4j.engine.staging.EventWait;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A stream of our own in one CUDA context, and a few slots that take turns: while the copy engine works on one slab, the disk
 * fills or drains the next. A copy is complete when its slot's event says so; nothing else is relied on.
 *
 * <p>
 * Used by one thread, between {@link #enter} and {@link #leave}.
 */
final class GpuRing {
    /** Slabs in turn: one is filled while one is copied. More of them push each other out of the last-level cache. */
    private static final int DEPTH = 2;

    /** Up to here waiting for a copy by spinning is cheaper than by sleeping. */
    private static final long SPIN_BYTES = 64 << 10;

    /** So often a copy is looked after before it is waited for: several times as long as a piece takes on a free link. */
    private static final int LOOKS = 32;

    /** Half of what a fast link needs for a copy, between these. */
    private static final long BETWEEN_LOOKS_AT_LEAST_NANOS = 2_000;

    private static final long BETWEEN_LOOKS_AT_MOST_NANOS = 20_000;

    private static final long BYTES_BETWEEN_LOOKS_PER_NANO = 100;

    private static final long PAGE_MASK = 4095;

    private final CudaContexts contexts;
    private final Cuda cuda;
    private final BouncePool pool;
    private final GpuContext context;
    private final PreciseSleep sleep;
    private final Slot[] slots = new Slot[DEPTH];
    private final long[] out = new long[1];
    private long stream;
    private boolean ready;
    private int turn;
    private int held;
    private boolean byProcessor;

    /** A slab, and the copy that may be using it. */
    static final class Slot {
        private long event;
        private @Nullable Slab slab;
        private boolean busy;
        private long piece;
        private long bytes;

        /** The slab that the holder of the slot works on. */
        Slab slab() {
            Slab mine = slab;
            if (mine == null) {
                throw new IllegalStateException("the slot has no slab");
            }
            return mine;
        }
    }

    GpuRing(CudaContexts contexts, BouncePool pool, GpuContext context, PreciseSleep sleep) {
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.pool = pool;
        this.context = context;
        this.sleep = sleep;
        for (int i = 0; i < DEPTH; i++) {
            slots[i] = new Slot();
        }
    }

    GpuContext context() {
        return context;
    }

    /** Where in a slab a piece begins: direct I/O wants slab and file to agree within a page. */
    static long skew(long start) {
        return start & PAGE_MASK;
    }

    /** What a piece needs of a slab: itself and, where it begins inside a page, the bytes before it. */
    static long slabBytes(RequestPlan plan) {
        return Math.min(plan.pieceSize(), skew(plan.offset()) + plan.size());
    }

    /**
     * Takes a slab, which may wait, and then makes the context current.
     *
     * @return false if that failed: noted as the failure of the next piece, which nobody has taken
     */
    boolean enter(Transfer transfer, Lane lane, long bytes) {
        boolean current = false;
        try {
            slots[0].slab = pool.acquire(bytes, true);
            held = 1;
            turn = 0;
            CudaErrors.check(cuda, "cuCtxPushCurrent", cuda.ctxPushCurrent(context.handle()));
            current = true;
            prepare();
            return true;
        } catch (RuntimeException e) {
            long piece = transfer.claim(lane);
            if (piece >= 0) {
                transfer.stop(piece, 0, 0, e);
            }
            if (current) {
                cuda.ctxPopCurrent(out);
            }
            giveBack();
            return false;
        }
    }

    /** Waits for all copies, restores what was current before, and gives the slabs back. */
    void leave(Transfer transfer) {
        // Copies of a stream end in their order: the newest is waited for, and the others only if it tells of a failure.
        Slot newest = slots[turn == 0 ? 0 : turn - 1];
        boolean well = newest.busy && await(transfer, newest);
        for (Slot slot : slots) {
            if (well) {
                slot.busy = false;
            }
            await(transfer, slot);
        }
        sleep.over();
        cuda.ctxPopCurrent(out);
        giveBack();
    }

    /**
     * Takes a slab, which may wait, and makes the context current: for copies that {@link #endGroup} waits for together.
     *
     * @throws CuFileException if that failed; nothing is taken then
     */
    Slab beginGroup(long bytes) {
        Slab slab = pool.acquire(bytes, true);
        boolean current = false;
        boolean begun = false;
        try {
            CudaErrors.check(cuda, "cuCtxPushCurrent", cuda.ctxPushCurrent(context.handle()));
            current = true;
            prepare();
            begun = true;
            return slab;
        } finally {
            if (!begun) {
                if (current) {
                    cuda.ctxPopCurrent(out);
                }
                pool.release(slab);
            }
        }
    }

    /** Starts copying a part of the group's slab to the GPU; a {@code CUresult}. */
    int copyInGroup(long from, long to, long bytes) {
        return copyToGpu(from, to, bytes);
    }

    /**
     * Says how the copies that follow are made.
     *
     * @param value by this thread, and complete at once: of managed memory, which the driver's copies may not touch while streams
     *        wait for us, since the driver waits for them first
     */
    void copyByProcessor(boolean value) {
        byProcessor = value;
    }

    private static void copy(long to, long from, long bytes) {
        MemorySegment.copy(
                HostMemoryViews.ofAddress(from, bytes), 0, HostMemoryViews.ofAddress(to, bytes), 0, bytes);
    }

    /**
     * Starts a copy. A small one goes by a copy engine, too, while streams wait for us: what is put into the queue of commands gets
     * nowhere while waiting streams stand in its channel. A single byte waits there; no stream waits for it.
     */
    private int copyToGpu(long from, long to, long bytes) {
        if (byProcessor) {
            copy(to, from, bytes);
            return Cuda.SUCCESS;
        }
        return pool.waits().any()
                ? EngineCopies.toGpu(cuda, to, from, bytes, stream)
                : cuda.memcpyHtoDAsync(to, from, bytes, stream);
    }

    /** Makes stream and events now, with the context current: later it may have to wait for streams that wait for us. */
    void prepareAhead() {
        CudaErrors.check(cuda, "cuCtxPushCurrent", cuda.ctxPushCurrent(context.handle()));
        try {
            prepare();
        } finally {
            cuda.ctxPopCurrent(out);
        }
    }

    boolean isPrepared() {
        return ready;
    }

    /** Waits for the group's copies, gives the slab back and restores what was current before; a {@code CUresult}. */
    int endGroup(Slab slab) {
        int result = cuda.streamSynchronize(stream);
        boolean idle = result == Cuda.SUCCESS || cuda.streamSynchronize(stream) == Cuda.SUCCESS;
        cuda.ctxPopCurrent(out);
        if (idle) {
            pool.release(slab);
        } else {
            pool.abandon(slab);
        }
        return result;
    }

    private void prepare() {
        if (ready) {
            return;
        }
        CudaErrors.check(cuda, "cuStreamCreate", cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING));
        stream = out[0];
        int made = 0;
        try {
            for (Slot slot : slots) {
                int flags = Cuda.EVENT_DISABLE_TIMING | Cuda.EVENT_BLOCKING_SYNC;
                CudaErrors.check(cuda, "cuEventCreate", cuda.eventCreate(out, flags));
                slot.event = out[0];
                made++;
            }
            ready = true;
        } finally {
            if (!ready) {
                destroy(made);
            }
        }
    }

    private void destroy(int events) {
        for (int i = 0; i < events; i++) {
            cuda.eventDestroy(slots[i].event);
        }
        cuda.streamDestroy(stream);
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

    /**
     * The slot whose turn it is, its former copy complete.
     *
     * @throws CuFileException CUDA_DRIVER_ERROR once the context no longer works
     */
    Slot next(Transfer transfer, long bytes) {
        if (turn == held && held < DEPTH) {
            more(bytes);
        }
        if (turn >= held) {
            turn = 0;
        }
        Slot slot = slots[turn++];
        await(transfer, slot);
        if (slot.slab == null) {
            throw CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, "cuMemcpyAsync",
                    "the CUDA context no longer works");
        }
        return slot;
    }

    /** Waits for a slot's copy; a failure is noted as that of its piece. */
    boolean await(Transfer transfer, Slot slot) {
        if (!slot.busy) {
            return slot.slab != null;
        }
        slot.busy = false;
        int result = await(slot.event, slot.bytes);
        if (result != Cuda.SUCCESS) {
            failed(transfer, slot, "cuEventSynchronize", result);
            return false;
        }
        return true;
    }

    /**
     * Looks a few times, asleep in between, before it asks to be woken: being woken by the GPU is an interrupt, which takes up to
     * 100 microseconds, and those of a request's threads come one after the other.
     */
    private int await(long event, long bytes) {
        long pause = Math.clamp(
                bytes / BYTES_BETWEEN_LOOKS_PER_NANO, BETWEEN_LOOKS_AT_LEAST_NANOS, BETWEEN_LOOKS_AT_MOST_NANOS);
        return EventWait.poll(cuda, event, LOOKS, pause, sleep);
    }

    /** Starts copying a slab to the GPU, on behalf of a piece. */
    void copyIn(Transfer transfer, Slot slot, long from, long to, long bytes, long piece) {
        int result = copyToGpu(from, to, bytes);
        begun(transfer, slot, piece, bytes, "cuMemcpyHtoDAsync", result);
    }

    /** Starts copying from the GPU to a slab, on behalf of a piece. */
    void copyOut(Transfer transfer, Slot slot, long from, long to, long bytes, long piece) {
        int result = Cuda.SUCCESS;
        if (byProcessor) {
            copy(to, from, bytes);
        } else {
            result = cuda.memcpyDtoHAsync(to, from, bytes, stream);
        }
        begun(transfer, slot, piece, bytes, "cuMemcpyDtoHAsync", result);
    }

    private void begun(Transfer transfer, Slot slot, long piece, long bytes, String call, int copied) {
        slot.piece = piece;
        slot.bytes = bytes;
        if (copied != Cuda.SUCCESS) {
            failed(transfer, slot, call, copied);
        } else if (byProcessor) {
            slot.busy = false;
        } else if (bytes <= SPIN_BYTES && transfer.pieces() == 1) {
            int done = cuda.streamSynchronize(stream);
            if (done != Cuda.SUCCESS) {
                failed(transfer, slot, "cuStreamSynchronize", done);
            }
        } else {
            int recorded = cuda.eventRecord(slot.event, stream);
            slot.busy = recorded == Cuda.SUCCESS;
            if (recorded != Cuda.SUCCESS) {
                failed(transfer, slot, "cuEventRecord", recorded);
            }
        }
    }

    /** A copy that cannot be waited for may still touch the slab: then nobody gets it again. */
    private void failed(Transfer transfer, Slot slot, String call, int result) {
        transfer.stop(slot.piece, 0, 0, CudaErrors.failure(cuda, call, result).build());
        Slab slab = slot.slab;
        if (slab != null && cuda.streamSynchronize(stream) != Cuda.SUCCESS) {
            pool.abandon(slab);
            slot.slab = null;
        }
    }

    private void giveBack() {
        for (Slot slot : slots) {
            Slab slab = slot.slab;
            if (slab != null) {
                slot.slab = null;
                pool.release(slab);
            }
        }
        held = 0;
    }

    /** Frees stream and events; in a context of the program's own they go with it. */
    void close() {
        if (ready && contexts.isRetained(context.handle()) && contexts.enter(context.handle()) == Cuda.SUCCESS) {
            destroy(DEPTH);
            contexts.leave();
        }
        ready = false;
    }
}
