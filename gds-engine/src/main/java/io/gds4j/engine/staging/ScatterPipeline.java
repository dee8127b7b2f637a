package io.gds4j.engine.staging;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Copies pieces from slabs to memory of several CUDA contexts, on a stream of its own in each. The disk fills one slab while the
 * other one is copied; a slab is free again when the events of all its contexts have passed.
 *
 * <p>
 * Used by one thread, between {@link #enter} and {@link #leave}.
 */
public final class ScatterPipeline {
    private static final int DEPTH = 2;
    /** Number of polls before a blocking wait, and their distance in nanoseconds. */
    private static final int POLLS = 32;
    private static final long POLL_NANOS = 10_000;

    private final @Nullable CudaContexts contexts;
    private final BouncePool pool;
    private final PreciseSleep sleep;
    private final List<Lane> known = new ArrayList<>();
    private final List<Lane> used = new ArrayList<>();
    private final Slot[] slots = {new Slot(0), new Slot(1)};
    private final long[] out = new long[1];
    private CopyPipeline.@Nullable PieceFailures failures;
    private boolean pinned;
    private int turn;

    /** A slab and the piece that it holds. */
    public static final class Slot {
        private final int number;
        private @Nullable Slab slab;
        private long piece;

        private Slot(int number) {
            this.number = number;
        }

        /** Returns the slot's slab. */
        public Slab slab() {
            Slab held = slab;
            if (held == null) {
                throw new IllegalStateException("the slot has no slab");
            }
            return held;
        }
    }

    /** The stream of one context, and an event for each slot. */
    private static final class Lane {
        private final GpuContext context;
        private final long[] events = new long[DEPTH];
        private final boolean[] busy = new boolean[DEPTH];
        private long stream;
        /** The first piece of which copies to other GPUs may still run; -1 if there is none. */
        private long firstToPeers = -1;

        private Lane(GpuContext context) {
            this.context = context;
        }
    }

    /** @param contexts null if there is no CUDA driver */
    public ScatterPipeline(@Nullable CudaContexts contexts, BouncePool pool, PreciseSleep sleep) {
        this.contexts = contexts;
        this.pool = pool;
        this.sleep = sleep;
    }

    private Cuda cuda() {
        CudaContexts driver = contexts;
        if (driver == null) {
            throw new IllegalStateException("no CUDA driver");
        }
        return driver.cuda();
    }

    /**
     * Takes a slab, which may wait, and prepares the streams.
     *
     * @param listener receives each piece that fails until {@link #leave}
     * @param bytes size of the largest piece, including {@link CopyPipeline#skew}
     * @param targets contexts of the destinations; none for host memory only
     * @throws CuFileException if this fails; the pipeline has no slab then
     */
    public void enter(CopyPipeline.PieceFailures listener, long bytes, List<GpuContext> targets) {
        if (slots[0].slab != null) {
            throw new IllegalStateException("the pipeline is entered already");
        }
        pinned = !targets.isEmpty();
        boolean entered = false;
        try {
            slots[0].slab = pool.acquire(bytes, pinned);
            turn = 0;
            for (int i = 0; i < targets.size(); i++) {
                used.add(lane(targets.get(i)));
            }
            failures = listener;
            entered = true;
        } finally {
            if (!entered) {
                giveBack();
            }
        }
    }

    private Lane lane(GpuContext context) {
        for (int i = 0; i < known.size(); i++) {
            if (known.get(i).context.equals(context)) {
                return known.get(i);
            }
        }
        Lane lane = new Lane(context);
        Cuda cuda = cuda();
        push(lane);
        try {
            CudaErrors.check(cuda, "cuStreamCreate", cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING));
            lane.stream = out[0];
            int made = 0;
            try {
                for (; made < DEPTH; made++) {
                    int flags = Cuda.EVENT_DISABLE_TIMING | Cuda.EVENT_BLOCKING_SYNC;
                    CudaErrors.check(cuda, "cuEventCreate", cuda.eventCreate(out, flags));
                    lane.events[made] = out[0];
                }
                known.add(lane);
            } finally {
                if (made < DEPTH) {
                    destroy(lane, made);
                }
            }
        } finally {
            cuda.ctxPopCurrent(out);
        }
        return lane;
    }

    private void destroy(Lane lane, int events) {
        for (int i = 0; i < events; i++) {
            cuda().eventDestroy(lane.events[i]);
        }
        cuda().streamDestroy(lane.stream);
    }

    private void push(Lane lane) {
        CudaErrors.check(cuda(), "cuCtxPushCurrent", cuda().ctxPushCurrent(lane.context.handle()));
    }

    /** Waits for all copies and gives the slabs back. */
    public void leave() {
        for (Slot slot : slots) {
            await(slot);
        }
        awaitPeers();
        failures = null;
        sleep.over();
        giveBack();
    }

    private void giveBack() {
        for (Slot slot : slots) {
            Slab slab = slot.slab;
            if (slab != null) {
                slot.slab = null;
                pool.release(slab);
            }
        }
        used.clear();
    }

    /**
     * Returns the next slot after its previous copies are complete.
     *
     * @throws IllegalStateException once a context no longer works
     */
    public Slot next(long bytes) {
        if (turn == 1 && slots[1].slab == null) {
            slots[1].slab = pool.tryAcquire(bytes, pinned);
        }
        if (turn == 1 && slots[1].slab == null) {
            turn = 0;
        }
        Slot slot = slots[turn];
        turn = 1 - turn;
        await(slot);
        if (slot.slab == null) {
            throw new IllegalStateException("a CUDA context no longer works");
        }
        return slot;
    }

    /** Makes a context current, for copies to it; {@link #endOfSlot} and {@link #end} follow. */
    public void begin(int target) {
        push(used.get(target));
    }

    /** Starts to copy contiguous bytes to the current context. */
    public void copy(int target, long from, long to, long bytes) {
        long stream = used.get(target).stream;
        int result = pool.waits().any()
                ? EngineCopies.toGpu(cuda(), to, from, bytes, stream)
                : cuda().memcpyHtoDAsync(to, from, bytes, stream);
        CudaErrors.check(cuda(), "cuMemcpyHtoDAsync", result);
    }

    /** Starts to copy rows to the current context. */
    public void copyRows(int target, long from, long fromPitch, long to, long toPitch, long width, long rows) {
        if (Math.max(fromPitch, toPitch) > Cuda.MAX_PITCH) {
            for (long row = 0; row < rows; row++) {
                copy(target, from + row * fromPitch, to + row * toPitch, width);
            }
            return;
        }
        int result = cuda().memcpy2DHtoDAsync(to, toPitch, from, fromPitch, width, rows, used.get(target).stream);
        CudaErrors.check(cuda(), "cuMemcpy2DAsync", result);
    }

    /** Ends the copies of a slot to the current context. Copies to peers may follow, for which the slot does not wait. */
    public void endOfSlot(Slot slot, int target, long piece) {
        Lane lane = used.get(target);
        slot.piece = piece;
        int recorded = cuda().eventRecord(lane.events[slot.number], lane.stream);
        lane.busy[slot.number] = true;
        if (recorded != Cuda.SUCCESS) {
            failed(slot, lane, "cuEventRecord", recorded);
        }
    }

    /** Starts to copy bytes that have been copied to the current context from there to another one; {@link #leave} waits. */
    public void copyToPeer(int target, long from, int peer, long to, long bytes, long piece) {
        Lane lane = used.get(target);
        int result = cuda().memcpyPeerAsync(
                to, used.get(peer).context.handle(), from, lane.context.handle(), bytes, lane.stream);
        CudaErrors.check(cuda(), "cuMemcpyPeerAsync", result);
        lane.firstToPeers = lane.firstToPeers < 0 ? piece : Math.min(lane.firstToPeers, piece);
    }

    /** Restores the context from before {@link #begin}. */
    public void end() {
        cuda().ctxPopCurrent(out);
    }

    private void awaitPeers() {
        for (int i = 0; i < used.size(); i++) {
            Lane lane = used.get(i);
            if (lane.firstToPeers >= 0) {
                int result = synchronize(lane);
                CopyPipeline.PieceFailures listener = failures;
                if (result != Cuda.SUCCESS && listener != null) {
                    listener.failed(
                            lane.firstToPeers, CudaErrors.failure(cuda(), "cuMemcpyPeerAsync", result).build());
                }
                lane.firstToPeers = -1;
            }
        }
    }

    private int synchronize(Lane lane) {
        int entered = cuda().ctxPushCurrent(lane.context.handle());
        if (entered != Cuda.SUCCESS) {
            return entered;
        }
        int result = cuda().streamSynchronize(lane.stream);
        cuda().ctxPopCurrent(out);
        return result;
    }

    private int awaitEvent(Lane lane, long event) {
        int entered = cuda().ctxPushCurrent(lane.context.handle());
        if (entered != Cuda.SUCCESS) {
            return entered;
        }
        int result = EventWait.poll(cuda(), event, POLLS, POLL_NANOS, sleep);
        cuda().ctxPopCurrent(out);
        return result;
    }

    /** Waits for a slot's copies to all contexts; reports those that failed. */
    private void await(Slot slot) {
        for (int i = 0; i < used.size(); i++) {
            Lane lane = used.get(i);
            if (lane.busy[slot.number]) {
                int result = awaitEvent(lane, lane.events[slot.number]);
                if (result != Cuda.SUCCESS) {
                    failed(slot, lane, "cuEventSynchronize", result);
                }
                lane.busy[slot.number] = false;
            }
        }
    }

    /** Reports a failed copy. If its end is unknown, it may still use the slab: the pool never hands that slab out again. */
    private void failed(Slot slot, Lane lane, String call, int result) {
        lane.busy[slot.number] = false;
        CopyPipeline.PieceFailures listener = failures;
        if (listener != null) {
            listener.failed(slot.piece, CudaErrors.failure(cuda(), call, result).build());
        }
        Slab slab = slot.slab;
        if (slab != null && synchronize(lane) != Cuda.SUCCESS) {
            pool.abandon(slab);
            slot.slab = null;
        }
    }

    /** Destroys streams and events. In a context that the program created, they are destroyed with the context. */
    public void close() {
        for (Lane lane : known) {
            CudaContexts driver = contexts;
            if (driver != null
                    && driver.isRetained(lane.context.handle())
                    && driver.enter(lane.context.handle()) == Cuda.SUCCESS) {
                destroy(lane, DEPTH);
                driver.leave();
            }
        }
        known.clear();
    }
}
