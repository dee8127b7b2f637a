package io.gds4j.engine.staging;

import io.gds4j.engine.kernel.FragmentTable;
import io.gds4j.engine.kernel.GatherKernel;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.trace.FlightEvents;
import io.gds4j.internal.trace.PieceCopyEvent;
import io.gds4j.internal.trace.PieceWaitEvent;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Copies pieces between slabs and CUDA contexts, by a lane to each. While copy engines work on one slab, the disk fills or drains the
 * next. A slab is free again when the event of its slot has passed in all lanes.
 *
 * <p>
 * Most requests have one context, which is current between {@link #enter(PieceFailures, PreparedGpu, long, long, boolean) enter} and
 * {@link #leave}. One with several destinations makes each current for the copies to it, by {@link #begin} and {@link #end}. Used by one
 * thread.
 */
public final class CopyPipeline {
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
    private boolean byProcessor;
    private boolean single;
    private @Nullable FragmentCopies fragments;

    /** Whether parts of a slot have been added to the fragments, and a kernel may copy them. */
    private boolean collects;

    /** Bytes to or from the context that is current, since {@link #begin(int, Slot, boolean) begin}. */
    private long bytesOfSlot;
    private boolean kernels = true;
    private long passed;
    private @Nullable PieceFailures failures;

    /** The request whose pieces are copied. */
    public interface PieceFailures {
        /** Reports that the copy of a piece failed. */
        void failed(long piece, RuntimeException cause);

        /** Returns whether a thread that waits for a lane or a slab may leave: the request was cancelled or interrupted. */
        default boolean isOver() {
            return false;
        }
    }

    /** A slab or a half of one, and the copies that may be using it. */
    public static final class Slot {
        private final int number;
        private @Nullable Slab slab;
        private long offset;
        private long piece;

        private Slot(int number) {
            this.number = number;
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
         * @throws CuFileException as {@link CopyPipeline#next} does
         */
        public long address() {
            return slab().address() + offset;
        }
    }

    /** @param contexts null if there is no CUDA driver */
    public CopyPipeline(@Nullable CudaContexts contexts, BouncePool pool, PreciseSleep sleep) {
        this.contexts = contexts;
        this.pool = pool;
        this.sleep = sleep;
        for (int i = 0; i < DEPTH; i++) {
            slots[i] = new Slot(i);
        }
    }

    private CudaContexts contexts() {
        CudaContexts driver = contexts;
        if (driver == null) {
            throw new IllegalStateException("no CUDA driver");
        }
        return driver;
    }

    private CopyLane lane(int target) {
        CopyLane taken = lanes.isEmpty() ? null : lanes.get(target);
        if (taken == null) {
            throw new IllegalStateException("the pipeline is not entered");
        }
        return taken;
    }

    private Cuda cuda() {
        return contexts().cuda();
    }

    /** Returns the context of a pipeline that was entered for one. */
    public PreparedGpu gpu() {
        return gpus.getFirst();
    }

    /** Returns the offset in a slab at which a piece begins. Direct I/O requires the same offset in a page as in the file. */
    public static long skew(long start) {
        return Pages.offset(start);
    }

    /**
     * Takes a lane and a slab, for both of which it may wait, and then makes the context current. Needs nothing of the driver if processors
     * copy.
     *
     * @param listener receives each piece that fails until {@link #leave}
     * @param bytes size of the largest piece, including {@link #skew}
     * @param pieces number of pieces of the transfer: the pipeline waits for the small copy of a single piece at once
     * @param onlyByProcessor true if {@link #copyByProcessor} holds for all copies
     * @return false if the request is over; the pipeline is not entered then
     * @throws CuFileException if this fails; the pipeline has no slab then
     */
    public boolean enter(
            PieceFailures listener, PreparedGpu gpu, long bytes, long pieces, boolean onlyByProcessor) {
        begin(DEPTH);
        PieceWaitEvent waiting = FlightEvents.pieceWait();
        boolean entered = false;
        try {
            add(gpu);
            if ((onlyByProcessor || takeLanes(listener)) && takeSlab(listener, bytes, !onlyByProcessor)) {
                current = onlyByProcessor ? null : pushed(lane(0));
                entered = true;
            }
        } finally {
            if (!entered) {
                giveBack();
            }
        }
        if (waiting != null) {
            waiting.record(contexts().ordinalOf(gpu.handle()), PieceWaitEvent.SLAB);
        }
        single = pieces == 1;
        byProcessor = onlyByProcessor;
        collects = false;
        return entered;
    }

    /**
     * Takes lanes to several contexts and a slab, for which it may wait. No context is current until {@link #begin}.
     *
     * @param destinations none for host memory only
     * @param slots number of pieces that may be under way, 1 to {@link #DEPTH}
     */
    public boolean enter(PieceFailures listener, List<PreparedGpu> destinations, long bytes, int slots) {
        begin(slots);
        PieceWaitEvent waiting = FlightEvents.pieceWait();
        boolean entered = false;
        try {
            for (int i = 0; i < destinations.size(); i++) {
                add(destinations.get(i));
            }
            entered = takeLanes(listener) && takeSlab(listener, bytes, !destinations.isEmpty());
            if (entered && slots > 1 && destinations.size() > 1) {
                halve(bytes);
            }
        } finally {
            if (!entered) {
                giveBack();
            }
        }
        if (waiting != null && !destinations.isEmpty()) {
            waiting.record(contexts().ordinalOf(destinations.getFirst().handle()), PieceWaitEvent.SLAB);
        }
        single = false;
        byProcessor = false;
        return entered;
    }

    /** Sets whether kernels may copy fragments to and from the memory of the next requests: managed memory takes copy engines. */
    public void useKernels(boolean value) {
        kernels = value;
    }

    private FragmentCopies fragments() {
        FragmentCopies known = fragments;
        if (known == null) {
            known = new FragmentCopies(cuda(), sleep);
            fragments = known;
        }
        return known;
    }

    private void collect(int target, Slot slot, boolean pinned, boolean toGpu) {
        GatherKernel kernel = gpus.get(target).kernel();
        boolean mayUse = kernels && kernel != null && pinned;
        fragments().begin(
                lane(target), slot.number, toGpu, mayUse ? kernel.fragments() : null, pool.waits().any());
    }

    private void begin(int ofRequest) {
        if (held != 0) {
            throw new IllegalStateException("the pipeline is entered already");
        }
        most = ofRequest;
        forget();
    }

    private void forget() {
        gpus.clear();
        lanes.clear();
    }

    private void add(PreparedGpu gpu) {
        gpus.add(gpu);
        lanes.add(null);
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
    private void halve(long bytes) {
        Slab slab = slots[0].slab();
        long half = Pages.down(slab.size() / 2); // direct I/O needs the beginning of a page
        if (bytes <= half) {
            slots[1].slab = slab;
            slots[1].offset = half;
            held = 2;
        }
    }

    private CopyLane pushed(CopyLane lane) {
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

    /** Copies a part of the {@link #next} slot to the GPU, now or at the {@link #endOfParts end}, and returns the {@code CUresult}. */
    public int copyPart(long from, long to, long bytes) {
        if (byProcessor) {
            copy(to, from, bytes);
            return Cuda.SUCCESS;
        }
        if (!collects) {
            collects = true;
            Slot slot = slots[turn - 1];
            collect(0, slot, slot.slab().block().isPinned(), true);
        }
        int result = kernels ? Cuda.SUCCESS : fragments().byEngine();
        return result == Cuda.SUCCESS ? fragments().add(from, to, bytes) : result;
    }

    /**
     * Ends the parts of a piece; waits for those of a single piece.
     *
     * @param bytes of all parts
     */
    public void endOfParts(Slot slot, long bytes, long piece) {
        slot.piece = piece;
        CopyLane lane = lane(0);
        if (collects) {
            collects = false;
            int result = fragments().end(bytes, single);
            if (result != Cuda.SUCCESS) {
                failed(slot, lane, "cuMemcpyHtoDAsync", result);
            }
        } else if (!single) {
            record(slot, lane, bytes);
        }
        if (single && lane.isBusy(slot.number)) {
            await(slot); // for a kernel, which has a stream of its own
        } else if (single) {
            synchronize(slot, lane, bytes);
            lane.free(slot.number);
        }
    }

    /** Returns the newest piece whose copy is complete or has failed; -1 if there is none since {@link #enter}. */
    public long passed() {
        return passed;
    }

    /**
     * Chooses how the next copies are made, of a pipeline that was entered for both ways.
     *
     * @param value true if this thread copies, which completes at once. For managed memory while streams wait for this process: the
     *        driver's copies of managed memory first wait for those streams.
     */
    public void copyByProcessor(boolean value) {
        byProcessor = value;
    }

    private static void copy(long to, long from, long bytes) {
        MemorySegment.copy(
                HostMemoryViews.ofAddress(from, bytes), 0, HostMemoryViews.ofAddress(to, bytes), 0, bytes);
    }

    private int copyToGpu(long from, long to, long bytes) {
        if (byProcessor) {
            copy(to, from, bytes);
            return Cuda.SUCCESS;
        }
        return lane(0).toGpu(to, from, bytes, pool.waits().any());
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
        PieceWaitEvent waiting = FlightEvents.pieceWait();
        int result;
        if (lane.isByKernel(slot.number)) {
            result = awaitKernel(slot, lane, pause);
        } else {
            result = lane == current
                    ? lane.await(slot.number, pause, sleep)
                    : lane.finish(slot.number, pause, sleep);
        }
        if (waiting != null) {
            waiting.record(lane.gpu(), PieceWaitEvent.COPY);
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

    /** Starts to copy a piece from a slab to the GPU. */
    public void copyIn(Slot slot, long from, long to, long bytes, long piece) {
        int result = copyToGpu(from, to, bytes);
        started(slot, piece, bytes, "cuMemcpyHtoDAsync", result);
    }

    /** Starts to copy a piece from the GPU to a slab. */
    public void copyOut(Slot slot, long from, long to, long bytes, long piece) {
        int result = Cuda.SUCCESS;
        if (byProcessor) {
            copy(to, from, bytes);
        } else {
            result = lane(0).toHost(to, from, bytes);
        }
        started(slot, piece, bytes, "cuMemcpyDtoHAsync", result);
    }

    private void started(Slot slot, long piece, long bytes, String call, int copied) {
        slot.piece = piece;
        if (byProcessor) {
            return;
        }
        CopyLane lane = lane(0);
        if (copied != Cuda.SUCCESS) {
            failed(slot, lane, call, copied);
        } else if (bytes <= TransferCosts.COPY_SPIN_BYTES && single) {
            synchronize(slot, lane, bytes);
        } else {
            record(slot, lane, bytes);
        }
    }

    private void synchronize(Slot slot, CopyLane lane, long bytes) {
        PieceCopyEvent copying = lane.isBusy(slot.number) ? null : FlightEvents.pieceCopy();
        int done = lane.synchronize();
        if (copying != null) {
            copying.record(lane.gpu(), bytes);
        }
        if (done != Cuda.SUCCESS) {
            failed(slot, lane, "cuStreamSynchronize", done);
        }
    }

    private void record(Slot slot, CopyLane lane, long bytes) {
        int recorded = lane.record(slot.number, bytes);
        if (recorded != Cuda.SUCCESS) {
            failed(slot, lane, "cuEventRecord", recorded);
        }
    }

    /**
     * Makes a context current, for copies between a slot and its memory; {@link #endOfSlot} and {@link #end} follow.
     *
     * @param toGpu false for copies from the GPU
     * @throws CuFileException if this fails; the context is not current then
     */
    public void begin(int target, Slot slot, boolean toGpu) {
        boolean pinned = slot.slab().block().isPinned();
        bytesOfSlot = 0;
        pushed(lane(target));
        collect(target, slot, pinned, toGpu);
    }

    /** Copies contiguous bytes to or from the context that is current, now or at the {@link #endOfSlot end}. */
    public void copyFragment(long from, long to, long bytes) {
        bytesOfSlot += bytes;
        CudaErrors.check(cuda(), "cuMemcpyAsync", fragments().add(from, to, bytes));
    }

    /** Starts to copy rows to or from the context that is current, as {@link #begin(int, Slot, boolean) begun}. */
    public void copyRows(
            int target, boolean toGpu, long from, long fromPitch, long to, long toPitch, long width, long rows) {
        if (Math.max(fromPitch, toPitch) > Cuda.MAX_PITCH) {
            for (long row = 0; row < rows; row++) {
                copyFragment(from + row * fromPitch, to + row * toPitch, width);
            }
            return;
        }
        bytesOfSlot += width * rows;
        CudaErrors.check(cuda(), "cuMemcpyAsync", fragments().byEngine());
        long stream = lane(target).stream();
        int result = toGpu
                ? cuda().memcpy2DHtoDAsync(to, toPitch, from, fromPitch, width, rows, stream)
                : cuda().memcpy2DDtoHAsync(to, toPitch, from, fromPitch, width, rows, stream);
        CudaErrors.check(cuda(), "cuMemcpy2DAsync", result);
    }

    /** Has a copy engine make all copies of the slot, so that copies to peers may follow them in the stream. */
    public void copyByEngine() {
        CudaErrors.check(cuda(), "cuMemcpyAsync", fragments().byEngine());
    }

    /** Ends the copies of a slot to or from the context that is current. Copies to peers may follow, for which the slot does not wait. */
    public void endOfSlot(Slot slot, int target, long piece) {
        slot.piece = piece;
        int result = fragments().end(bytesOfSlot, false);
        if (result != Cuda.SUCCESS) {
            failed(slot, lane(target), "cuMemcpyAsync", result);
        }
    }

    /** Starts to copy bytes that have been copied to the current context from there to another one; {@link #leave} waits. */
    public void copyToPeer(int target, long from, int peer, long to, long bytes, long piece) {
        CudaErrors.check(cuda(), "cuMemcpyPeerAsync", lane(target).toPeer(gpus.get(peer), to, from, bytes, piece));
    }

    /** Restores the context from before {@link #begin}. */
    public void end() {
        contexts().leave();
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
    private void failed(Slot slot, CopyLane lane, String call, int result) {
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
}
