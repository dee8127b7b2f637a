package io.gds4j.engine.staging;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Copies pieces from slabs to memory of several CUDA contexts, on the stream of a lane in each. The disk fills one slab while the
 * other one is copied; a slab is free again when the events of all its contexts have passed.
 *
 * <p>
 * Used by one thread, between {@link #enter} and {@link #leave}.
 */
public final class ScatterPipeline {
    /** Time between polls of a copy. */
    private static final long POLL_NANOS = 10_000;

    private final @Nullable PreparedGpus gpus;
    private final BouncePool pool;
    private final PreciseSleep sleep;
    private final List<Target> known = new ArrayList<>();
    private final List<Target> used = new ArrayList<>();
    private final Slot[] slots = {new Slot(0), new Slot(1)};
    private CopyPipeline.@Nullable PieceFailures failures;
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

    /** A context, and the lane to it while the pipeline is entered. */
    private static final class Target {
        private final PreparedGpu gpu;
        private final boolean[] busy = new boolean[CopyPipeline.DEPTH];
        private @Nullable CopyLane lane;
        /** The first piece of which copies to other GPUs may still run; -1 if there is none. */
        private long firstToPeers = -1;

        private Target(PreparedGpu gpu) {
            this.gpu = gpu;
        }

        long handle() {
            return gpu.context().handle();
        }

        CopyLane lane() {
            CopyLane taken = lane;
            if (taken == null) {
                throw new IllegalStateException("the pipeline is not entered");
            }
            return taken;
        }

        long stream() {
            return lane().stream();
        }
    }

    /** @param gpus null if there is no CUDA driver */
    public ScatterPipeline(@Nullable PreparedGpus gpus, BouncePool pool, PreciseSleep sleep) {
        this.gpus = gpus;
        this.pool = pool;
        this.sleep = sleep;
    }

    private PreparedGpus gpus() {
        PreparedGpus driver = gpus;
        if (driver == null) {
            throw new IllegalStateException("no CUDA driver");
        }
        return driver;
    }

    private Cuda cuda() {
        return gpus().contexts().cuda();
    }

    /**
     * Takes lanes and a slab, for which it may wait.
     *
     * @param listener receives each piece that fails until {@link #leave}
     * @param bytes size of the largest piece, including {@link CopyPipeline#skew}
     * @param targets contexts of the destinations; none for host memory only
     * @return false if the request is over; the pipeline is not entered then
     * @throws CuFileException if this fails; the pipeline has no slab then
     */
    public boolean enter(CopyPipeline.PieceFailures listener, long bytes, List<GpuContext> targets) {
        if (slots[0].slab != null) {
            throw new IllegalStateException("the pipeline is entered already");
        }
        boolean entered = false;
        try {
            for (int i = 0; i < targets.size(); i++) {
                used.add(target(targets.get(i)));
            }
            if (takeLanes(listener)) {
                slots[0].slab = pool.acquire(bytes, !targets.isEmpty(), listener);
                entered = slots[0].slab != null;
            }
        } finally {
            if (!entered) {
                giveBack();
                used.clear();
            }
        }
        turn = 0;
        failures = listener;
        return entered;
    }

    private Target target(GpuContext context) {
        for (int i = 0; i < known.size(); i++) {
            if (known.get(i).gpu.context().equals(context)) {
                return known.get(i);
            }
        }
        Target target = new Target(gpus().of(context));
        known.add(target);
        return target;
    }

    /** Takes lanes in the order of the contexts: threads that need several must not wait for each other. */
    private boolean takeLanes(CopyPipeline.PieceFailures listener) {
        for (Target next = nextWithoutLane(); next != null; next = nextWithoutLane()) {
            next.lane = next.gpu.take(listener);
            if (next.lane == null) {
                return false;
            }
        }
        return true;
    }

    private @Nullable Target nextWithoutLane() {
        Target next = null;
        for (int i = 0; i < used.size(); i++) {
            Target target = used.get(i);
            if (target.lane == null && (next == null || target.handle() < next.handle())) {
                next = target;
            }
        }
        return next;
    }

    private void push(Target target) {
        CudaErrors.check(cuda(), "cuCtxPushCurrent", gpus().contexts().enter(target.handle()));
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
        for (int i = 0; i < used.size(); i++) {
            used.get(i).gpu.finish();
        }
        used.clear();
    }

    private void giveBack() {
        for (Slot slot : slots) {
            Slab slab = slot.slab;
            if (slab != null) {
                slot.slab = null;
                pool.release(slab);
            }
        }
        for (int i = 0; i < used.size(); i++) {
            Target target = used.get(i);
            CopyLane lane = target.lane;
            target.lane = null;
            if (lane != null) {
                target.gpu.give(lane);
            }
        }
    }

    /**
     * Returns the next slot after its previous copies are complete.
     *
     * @throws IllegalStateException once a context no longer works
     */
    public Slot next(long bytes) {
        if (turn == 1 && slots[1].slab == null) {
            slots[1].slab = pool.tryAcquire(bytes);
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
        long stream = used.get(target).stream();
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
        int result = cuda().memcpy2DHtoDAsync(to, toPitch, from, fromPitch, width, rows, used.get(target).stream());
        CudaErrors.check(cuda(), "cuMemcpy2DAsync", result);
    }

    /** Ends the copies of a slot to the current context. Copies to peers may follow, for which the slot does not wait. */
    public void endOfSlot(Slot slot, int target, long piece) {
        Target to = used.get(target);
        slot.piece = piece;
        int recorded = cuda().eventRecord(to.lane().event(slot.number), to.stream());
        to.busy[slot.number] = true;
        if (recorded != Cuda.SUCCESS) {
            failed(slot, to, "cuEventRecord", recorded);
        }
    }

    /** Starts to copy bytes that have been copied to the current context from there to another one; {@link #leave} waits. */
    public void copyToPeer(int target, long from, int peer, long to, long bytes, long piece) {
        Target source = used.get(target);
        int result = cuda().memcpyPeerAsync(
                to, used.get(peer).handle(), from, source.handle(), bytes, source.stream());
        CudaErrors.check(cuda(), "cuMemcpyPeerAsync", result);
        source.firstToPeers = source.firstToPeers < 0 ? piece : Math.min(source.firstToPeers, piece);
    }

    /** Restores the context from before {@link #begin}. */
    public void end() {
        gpus().contexts().leave();
    }

    private void awaitPeers() {
        for (int i = 0; i < used.size(); i++) {
            Target target = used.get(i);
            if (target.firstToPeers >= 0) {
                int result = synchronize(target);
                CopyPipeline.PieceFailures listener = failures;
                if (result != Cuda.SUCCESS && listener != null) {
                    listener.failed(
                            target.firstToPeers, CudaErrors.failure(cuda(), "cuMemcpyPeerAsync", result).build());
                }
                target.firstToPeers = -1;
            }
        }
    }

    private int synchronize(Target target) {
        int entered = gpus().contexts().enter(target.handle());
        if (entered != Cuda.SUCCESS) {
            return entered;
        }
        int result = cuda().streamSynchronize(target.stream());
        gpus().contexts().leave();
        return result;
    }

    private int awaitEvent(Target target, long event) {
        int entered = gpus().contexts().enter(target.handle());
        if (entered != Cuda.SUCCESS) {
            return entered;
        }
        int result = EventWait.poll(cuda(), event, POLL_NANOS, sleep);
        gpus().contexts().leave();
        return result;
    }

    /** Waits for a slot's copies to all contexts; reports those that failed. */
    private void await(Slot slot) {
        for (int i = 0; i < used.size(); i++) {
            Target target = used.get(i);
            if (target.busy[slot.number]) {
                int result = awaitEvent(target, target.lane().event(slot.number));
                if (result != Cuda.SUCCESS) {
                    failed(slot, target, "cuEventSynchronize", result);
                }
                target.busy[slot.number] = false;
            }
        }
    }

    /** Reports a failed copy. If its end is unknown, it may still use the slab: the pool never hands that slab out again. */
    private void failed(Slot slot, Target target, String call, int result) {
        target.busy[slot.number] = false;
        CopyPipeline.PieceFailures listener = failures;
        if (listener != null) {
            listener.failed(slot.piece, CudaErrors.failure(cuda(), call, result).build());
        }
        Slab slab = slot.slab;
        if (slab != null && synchronize(target) != Cuda.SUCCESS) {
            pool.abandon(slab);
            slot.slab = null;
        }
    }
}
