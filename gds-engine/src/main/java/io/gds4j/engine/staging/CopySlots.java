package io.gds4j.engine.staging;

import io.gds4j.engine.kernel.FragmentTable;
import io.gds4j.engine.kernel.GatherKernel;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.trace.FlightEvents;
import io.gds4j.internal.trace.FlightEvents.PieceCopy;
import io.gds4j.internal.trace.FlightEvents.PieceWait;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The slabs that one thread fills or drains for a request, the lanes to the request's CUDA contexts, and the waits for their copies. While
 * copy engines work on one slab, the disk fills or drains the next. A slab is free again when the event of its slot has passed in all lanes.
 *
 * <p>
 * {@link OneContext} and {@link ManyContexts} begin requests and copy; {@link #leave} ends them. Used by one thread.
 */
public final class CopySlots {
    /** Number of slabs: one is filled while one is copied. More would push each other out of the last-level cache. */
    public static final int DEPTH = CopyLane.EVENTS;

    private final @Nullable CudaContexts contexts;
    private final BouncePool pool;
    private final PreciseSleep sleep;
    private final Slot[] slots = new Slot[DEPTH];

    /** The contexts of the request, between enter and leave. */
    private final List<PreparedGpu> gpus = new ArrayList<>();

    /** For each context, the lane to it; null before it is taken, and if processors copy. */
    private final List<@Nullable CopyLane> lanes = new ArrayList<>();

    /** The lane whose context is current between enter and leave; null if there is none. */
    private @Nullable CopyLane current;

    private int turn;
    private int held;

    /** Number of slots that the request uses. */
    private int most;
    private @Nullable FragmentCopies fragments;
    private long passed;
    private @Nullable PieceFailures failures;

    /** A slab or a half of one, and the copies that may be using it. */
    public static final class Slot {
        private final int number;
        private @Nullable Slab slab;
        private long offset;
        private long piece;

        private Slot(int number) {
            this.number = number;
        }

        int number() {
            return number;
        }

        /** Names the piece whose copies the slot has. */
        void holds(long ofRequest) {
            piece = ofRequest;
        }

        /** @throws CuFileException CUDA_DRIVER_ERROR if a copy whose end is unknown may still use the slab */
        Slab slab() {
            Slab held = slab;
            if (held == null) {
                throw CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, "cuMemcpyAsync",
                        "the CUDA context no longer works");
            }
            return held;
        }

        /**
         * Returns where pieces begin.
         *
         * @throws CuFileException as {@link CopySlots#next} does
         */
        public long address() {
            return slab().address() + offset;
        }
    }

    /** @param contexts null if there is no CUDA driver */
    public CopySlots(@Nullable CudaContexts contexts, BouncePool pool, PreciseSleep sleep) {
        this.contexts = contexts;
        this.pool = pool;
        this.sleep = sleep;
        for (int i = 0; i < DEPTH; i++) {
            slots[i] = new Slot(i);
        }
    }

    CudaContexts contexts() {
        CudaContexts driver = contexts;
        if (driver == null) {
            throw new IllegalStateException("no CUDA driver");
        }
        return driver;
    }

    CopyLane lane(int target) {
        CopyLane taken = lanes.isEmpty() ? null : lanes.get(target);
        if (taken == null) {
            throw new IllegalStateException("no slots are taken");
        }
        return taken;
    }

    Cuda cuda() {
        return contexts().cuda();
    }

    PreparedGpu gpu(int target) {
        return gpus.get(target);
    }

    /** Returns the slot that {@link #next} has returned last. */
    Slot newest() {
        return slots[turn - 1];
    }

    /** Returns the offset in a slab at which a piece begins. Direct I/O requires the same offset in a page as in the file. */
    public static long skew(long start) {
        return Pages.offset(start);
    }

    /** Begins a request that uses this number of slots, 1 to {@link #DEPTH}. */
    void begin(int ofRequest) {
        if (held != 0) {
            throw new IllegalStateException("the slots are taken already");
        }
        most = ofRequest;
        forget();
    }

    private void forget() {
        gpus.clear();
        lanes.clear();
    }

    /** Adds a context of the request. */
    void add(PreparedGpu gpu) {
        gpus.add(gpu);
        lanes.add(null);
    }

    /**
     * Takes lanes to the contexts, none if processors copy, and a slab. It may wait for each.
     *
     * @return false if the request is over; nothing is taken then
     * @throws CuFileException if this fails; nothing is taken then
     */
    boolean take(PieceFailures listener, long bytes, CopyBy by) {
        PieceWait waiting = FlightEvents.pieceWait();
        boolean taken = false;
        try {
            boolean byGpus = by != CopyBy.PROCESSOR;
            taken = (!byGpus || takeLanes(listener)) && takeSlab(listener, bytes, byGpus && !gpus.isEmpty());
        } finally {
            if (!taken) {
                giveBack();
            }
        }
        if (waiting != null && !gpus.isEmpty()) {
            waiting.record(contexts().ordinalOf(gpus.getFirst().handle()), PieceWait.SLAB);
        }
        return taken;
    }

    /** Makes the first context current until {@link #leave}. If the driver refuses, everything is given back. */
    void enterContext() {
        try {
            current = pushed(lane(0));
        } finally {
            if (current == null) {
                giveBack();
            }
        }
    }

    FragmentCopies fragments() {
        FragmentCopies known = fragments;
        if (known == null) {
            known = new FragmentCopies(cuda(), sleep);
            fragments = known;
        }
        return known;
    }

    /** Begins the copies between a slot and fragments of a context's memory. */
    FragmentCopies collect(int target, Slot slot, boolean toGpu, CopyBy by) {
        boolean pinned = slot.slab().block().isPinned();
        GatherKernel kernel = gpus.get(target).kernel();
        boolean mayUse = by == CopyBy.KERNEL && kernel != null && pinned;
        fragments().begin(
                lane(target), slot.number, toGpu, mayUse ? kernel.fragments() : null, waits());
        return fragments();
    }

    /** Returns whether streams wait for this process. */
    boolean waits() {
        return pool.waits().any();
    }

    /** Takes lanes in the order of the contexts: threads that need several must not wait for each other. */
    private boolean takeLanes(PieceFailures listener) {
        for (int next = nextWithoutLane(); next >= 0; next = nextWithoutLane()) {
            CopyLane taken = gpus.get(next).take(listener);
            if (taken == null) {
                return false;
            }
            lanes.set(next, taken);
        }
        return true;
    }

    private int nextWithoutLane() {
        int next = -1;
        for (int i = 0; i < gpus.size(); i++) {
            if (lanes.get(i) == null && (next < 0 || gpus.get(i).handle() < gpus.get(next).handle())) {
                next = i;
            }
        }
        return next;
    }

    private boolean takeSlab(PieceFailures listener, long bytes, boolean pinned) {
        Slab slab = pool.acquire(bytes, pinned, listener);
        slots[0].slab = slab;
        held = slab == null ? 0 : 1;
        turn = 0;
        passed = -1;
        failures = listener;
        return slab != null;
    }

    /** Uses both halves of the slab if pieces fit: many threads copy to several GPUs, and should not wait for each other's slabs. */
    void halve(long bytes) {
        Slab slab = slots[0].slab();
        long half = Pages.down(slab.size() / 2); // direct I/O needs the beginning of a page
        if (bytes <= half) {
            slots[1].slab = slab;
            slots[1].offset = half;
            held = 2;
        }
    }

    CopyLane pushed(CopyLane lane) {
        CudaErrors.check(cuda(), "cuCtxPushCurrent", lane.push());
        return lane;
    }

    /** Waits for all copies, restores the context that was current before, and gives lanes and slabs back. */
    public void leave() {
        boolean copied = false;
        for (int i = 0; i < lanes.size(); i++) {
            CopyLane lane = lanes.get(i);
            if (lane != null) {
                awaitAll(lane);
                awaitPeers(lane);
                copied = true;
            }
        }
        sleep.over();
        if (current != null) {
            current.pop();
        }
        giveBack();
        for (int i = 0; copied && i < gpus.size(); i++) {
            gpus.get(i).finish();
        }
        forget();
    }

    private void awaitAll(CopyLane lane) {
        // Copies of a stream end in their order: if the newest succeeded, all have.
        Slot newest = slots[turn == 0 ? 0 : turn - 1];
        boolean busy = lane.isBusy(newest.number);
        int last = busy ? await(newest, lane) : Cuda.SUCCESS;
        for (Slot slot : slots) {
            if (busy && last == Cuda.SUCCESS && !lane.isByKernel(newest.number) && !lane.isByKernel(slot.number)) {
                lane.free(slot.number);
            } else if (lane.isBusy(slot.number) && await(slot, lane) == Cuda.SUCCESS && last != Cuda.SUCCESS) {
                // A driver may tell a failure once, and the newest copy has heard of it, whichever failed.
                failed(slot, lane, "cuEventSynchronize", last);
            }
        }
    }

    private void awaitPeers(CopyLane lane) {
        long first = lane.takeFirstToPeers();
        int result = first < 0 ? Cuda.SUCCESS : in(lane, lane::synchronize);
        if (result != Cuda.SUCCESS) {
            listener().failed(first, CudaErrors.failure(cuda(), "cuMemcpyPeerAsync", result).build());
        }
    }

    private PieceFailures listener() {
        PieceFailures listener = failures;
        if (listener == null) {
            throw new IllegalStateException("no transfer");
        }
        return listener;
    }

    private void giveBack() {
        failures = null;
        current = null;
        for (Slot slot : slots) {
            Slab slab = slot.slab;
            slot.slab = null;
            if (slab != null && slot.offset == 0) {
                pool.release(slab);
            }
            slot.offset = 0;
        }
        held = 0;
        for (int i = 0; i < lanes.size(); i++) {
            CopyLane lane = lanes.set(i, null);
            if (lane != null) {
                gpus.get(i).give(lane);
            }
        }
    }

    /** Returns the newest piece whose copy is complete or has failed; -1 if there is none since the request began. */
    public long passed() {
        return passed;
    }

    /** Returns whether a second piece can begin before the first one is over. */
    public boolean hasTwo(long bytes) {
        addSlab(bytes);
        return held > 1;
    }

    private void addSlab(long bytes) {
        Slab slab = held < most ? pool.tryAcquire(bytes) : null;
        if (slab != null) {
            slots[held++].slab = slab;
        }
    }

    /**
     * Returns the next slot after its previous copies are complete.
     *
     * @throws CuFileException CUDA_DRIVER_ERROR once a context no longer works
     */
    public Slot next(long bytes) {
        if (turn == held) {
            addSlab(bytes);
        }
        if (turn >= held) {
            turn = 0;
        }
        Slot slot = slots[turn++];
        await(slot);
        slot.slab();
        return slot;
    }

    /**
     * Waits for a slot's copies. Returns false if one failed, and reports that to {@link PieceFailures}; or if the slab is lost to a copy of its
     * other half, which {@link Slot#address} tells.
     */
    public boolean await(Slot slot) {
        boolean succeeded = slot.slab != null;
        for (int i = 0; i < lanes.size(); i++) {
            CopyLane lane = lanes.get(i);
            if (lane != null && lane.isBusy(slot.number)) {
                succeeded &= await(slot, lane) == Cuda.SUCCESS;
            }
        }
        return succeeded;
    }

    /**
     * Polls a few times, with sleeps in between, before it blocks. A blocking wait ends with an interrupt of the GPU, which takes
     * up to 100 microseconds, and the interrupts of a request's threads come one after the other.
     */
    private int await(Slot slot, CopyLane lane) {
        long pause = Math.max(TransferCosts.COPY_POLL_NANOS,
                lane.bytes(slot.number) / TransferCosts.COPY_BYTES_PER_POLL_NANO);
        PieceWait waiting = FlightEvents.pieceWait();
        int result;
        if (lane.isByKernel(slot.number)) {
            result = awaitKernel(slot, lane, pause);
        } else {
            result = lane == current
                    ? lane.await(slot.number, pause, sleep)
                    : lane.finish(slot.number, pause, sleep);
        }
        if (waiting != null) {
            waiting.record(lane.gpu(), PieceWait.COPY);
        }
        passed = slot.piece;
        if (result != Cuda.SUCCESS) {
            failed(slot, lane, "cuEventSynchronize", result);
        }
        return result;
    }

    private int awaitKernel(Slot slot, CopyLane lane, long pause) {
        int entered = lane == current ? Cuda.SUCCESS : lane.push();
        if (entered != Cuda.SUCCESS) {
            lane.free(slot.number);
            return entered;
        }
        try {
            return fragments().await(lane, slot.number, pause);
        } finally {
            if (lane != current) {
                lane.pop();
            }
        }
    }

    void synchronize(Slot slot, CopyLane lane, long bytes) {
        PieceCopy copying = lane.isBusy(slot.number) ? null : FlightEvents.pieceCopy();
        int done = lane.synchronize();
        if (copying != null) {
            copying.record(lane.gpu(), bytes);
        }
        if (done != Cuda.SUCCESS) {
            failed(slot, lane, "cuStreamSynchronize", done);
        }
    }

    void record(Slot slot, CopyLane lane, long bytes) {
        int recorded = lane.record(slot.number, bytes);
        if (recorded != Cuda.SUCCESS) {
            failed(slot, lane, "cuEventRecord", recorded);
        }
    }

    private int in(CopyLane lane, IntSupplier call) {
        if (lane == current) {
            return call.getAsInt();
        }
        int entered = lane.push();
        if (entered != Cuda.SUCCESS) {
            return entered;
        }
        int result = call.getAsInt();
        lane.pop();
        return result;
    }

    /**
     * Reports a failed copy. If its end is unknown, it may still use the slab, which the pool never hands out again, and a kernel the lane's
     * table.
     */
    void failed(Slot slot, CopyLane lane, String call, int result) {
        listener().failed(slot.piece, CudaErrors.failure(cuda(), call, result).build());
        if (in(lane, () -> lane.synchronize(slot.number)) == Cuda.SUCCESS) {
            return;
        }
        FragmentTable table = lane.table(slot.number);
        if (lane.isByKernel(slot.number) && table != null) {
            table.callOff(); // if the kernel begins later, it copies nothing
            lane.setBehind(true);
        }
        Slab slab = slot.slab;
        if (slab != null) {
            pool.abandon(slab);
            for (Slot half : slots) {
                half.slab = half.slab == slab ? null : half.slab;
            }
        }
    }

    /** What copies between slabs and the memory of a GPU. */
    public enum CopyBy {
        /** This thread: complete at once. For managed memory while streams wait for this process: the driver's copies of it wait for those streams. */
        PROCESSOR,
        /** The GPU's copy engines. */
        ENGINE,
        /** Copy engines, or a kernel if there are several small parts. Managed memory takes copy engines. */
        KERNEL
    }
}
