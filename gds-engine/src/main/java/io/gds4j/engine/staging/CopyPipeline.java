package io.gds4j.engine.staging;

import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Copies pieces between slabs and one CUDA context, on the stream of a lane. While the copy engine works on one slab, the disk
 * fills or drains the next. A copy is complete when the event of its slot is.
 *
 * <p>
 * Used by one thread, between {@link #enter} and {@link #leave}.
 */
public final class CopyPipeline {
    /** Number of slabs: one is filled while one is copied. More would push each other out of the last-level cache. */
    public static final int DEPTH = 2;

    /** Largest copy in bytes for which spinning is cheaper than sleeping. */
    private static final long SPIN_BYTES = 64 << 10;

    /** Shortest time between polls. */
    private static final long MIN_POLL_NANOS = 2_000;

    /** Twice what a fast link copies in a nanosecond: the time between polls is half of the time that the copy takes. */
    private static final long BYTES_PER_POLL_NANO = 100;

    private static final long PAGE_MASK = 4095;

    private final CudaContexts contexts;
    private final Cuda cuda;
    private final BouncePool pool;
    private final PreparedGpu gpu;
    private final PreciseSleep sleep;
    private final Slot[] slots = new Slot[DEPTH];

    /** Between enter and leave, unless only processors copy. */
    private @Nullable CopyLane lane;

    private long stream;
    private int turn;
    private int held;
    private boolean byProcessor;
    private boolean single;
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

    /** A slab, and the copy that may be using it. */
    public static final class Slot {
        private long event;
        private @Nullable Slab slab;
        private boolean busy;
        private long piece;
        private long bytes;

        /** Returns the slot's slab. */
        public Slab slab() {
            Slab held = slab;
            if (held == null) {
                throw new IllegalStateException("the slot has no slab");
            }
            return held;
        }
    }

    public CopyPipeline(PreparedGpu gpu, BouncePool pool, PreciseSleep sleep) {
        this.contexts = gpu.contexts();
        this.cuda = contexts.cuda();
        this.pool = pool;
        this.gpu = gpu;
        this.sleep = sleep;
        for (int i = 0; i < DEPTH; i++) {
            slots[i] = new Slot();
        }
    }

    public GpuContext context() {
        return gpu.context();
    }

    /** Returns the offset in a slab at which a piece begins. Direct I/O requires the same offset in a page as in the file. */
    public static long skew(long start) {
        return start & PAGE_MASK;
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
    public boolean enter(PieceFailures listener, long bytes, long pieces, boolean onlyByProcessor) {
        if (held != 0) {
            throw new IllegalStateException("the pipeline is entered already");
        }
        CopyLane taken = onlyByProcessor ? null : gpu.take(listener);
        if (taken == null && !onlyByProcessor) {
            return false;
        }
        boolean entered = false;
        try {
            Slab slab = pool.acquire(bytes, !onlyByProcessor, listener);
            if (slab != null) {
                slots[0].slab = slab;
                held = 1;
                enter(taken);
                entered = true;
            }
        } finally {
            if (!entered) {
                giveBack(taken);
            }
        }
        turn = 0;
        passed = -1;
        failures = listener;
        single = pieces == 1;
        byProcessor = onlyByProcessor;
        return entered;
    }

    private void enter(@Nullable CopyLane taken) {
        if (taken != null) {
            CudaErrors.check(cuda, "cuCtxPushCurrent", contexts.enter(gpu.context().handle()));
            stream = taken.stream();
            for (int i = 0; i < DEPTH; i++) {
                slots[i].event = taken.event(i);
            }
        }
        lane = taken;
    }

    /** Waits for all copies, restores the context that was current before, and gives lane and slabs back. */
    public void leave() {
        // Copies of a stream end in their order: if the newest succeeded, all have.
        Slot newest = slots[turn == 0 ? 0 : turn - 1];
        boolean succeeded = newest.busy && await(newest);
        for (Slot slot : slots) {
            if (succeeded) {
                slot.busy = false;
            }
            await(slot);
        }
        failures = null;
        sleep.over();
        CopyLane used = lane;
        lane = null;
        if (used != null) {
            contexts.leave();
        }
        giveBack(used);
        if (used != null) {
            gpu.finish();
        }
    }

    /** Starts to copy a part of a slab to the GPU, and returns the {@code CUresult}. {@link #endOfParts} follows. */
    public int copyPart(long from, long to, long bytes) {
        return copyToGpu(from, to, bytes);
    }

    /**
     * Ends the parts of a piece; waits for those of a single piece.
     *
     * @param bytes of all parts
     */
    public void endOfParts(Slot slot, long bytes, long piece) {
        slot.piece = piece;
        slot.bytes = bytes;
        if (single) {
            synchronize(slot);
        } else {
            record(slot);
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

    /**
     * Starts a copy. While streams wait for this process, a copy engine makes small copies, too: in the command queue, they would
     * stay behind waiting streams of the same channel. A single byte goes there nevertheless; no stream waits for it.
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

    /** Returns whether a second piece can begin before the first one is over. */
    public boolean hasTwo(long bytes) {
        if (held < 2) {
            addSlab(bytes);
        }
        return held > 1;
    }

    private void addSlab(long bytes) {
        Slab slab = pool.tryAcquire(bytes);
        if (slab != null) {
            slots[held++].slab = slab;
        }
    }

    /**
     * Returns the next slot after its previous copy is complete.
     *
     * @throws CuFileException CUDA_DRIVER_ERROR once the context no longer works
     */
    public Slot next(long bytes) {
        if (turn == held && held < DEPTH) {
            addSlab(bytes);
        }
        if (turn >= held) {
            turn = 0;
        }
        Slot slot = slots[turn++];
        await(slot);
        if (slot.slab == null) {
            throw CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, "cuMemcpyAsync",
                    "the CUDA context no longer works");
        }
        return slot;
    }

    /** Waits for a slot's copy. Returns false if it failed, and reports that to {@link PieceFailures}. */
    public boolean await(Slot slot) {
        if (!slot.busy) {
            return slot.slab != null;
        }
        slot.busy = false;
        int result = await(slot.event, slot.bytes);
        passed = slot.piece;
        if (result != Cuda.SUCCESS) {
            failed(slot, "cuEventSynchronize", result);
            return false;
        }
        return true;
    }

    /**
     * Polls a few times, with sleeps in between, before it blocks. A blocking wait ends with an interrupt of the GPU, which takes
     * up to 100 microseconds, and the interrupts of a request's threads come one after the other.
     */
    private int await(long event, long bytes) {
        long pause = Math.max(MIN_POLL_NANOS, bytes / BYTES_PER_POLL_NANO);
        return EventWait.poll(cuda, event, pause, sleep);
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
            result = cuda.memcpyDtoHAsync(to, from, bytes, stream);
        }
        started(slot, piece, bytes, "cuMemcpyDtoHAsync", result);
    }

    private void started(Slot slot, long piece, long bytes, String call, int copied) {
        slot.piece = piece;
        slot.bytes = bytes;
        if (copied != Cuda.SUCCESS) {
            failed(slot, call, copied);
        } else if (byProcessor) {
            slot.busy = false;
        } else if (bytes <= SPIN_BYTES && single) {
            synchronize(slot);
        } else {
            record(slot);
        }
    }

    private void synchronize(Slot slot) {
        int done = cuda.streamSynchronize(stream);
        if (done != Cuda.SUCCESS) {
            failed(slot, "cuStreamSynchronize", done);
        }
    }

    private void record(Slot slot) {
        int recorded = cuda.eventRecord(slot.event, stream);
        slot.busy = recorded == Cuda.SUCCESS;
        if (recorded != Cuda.SUCCESS) {
            failed(slot, "cuEventRecord", recorded);
        }
    }

    /** Reports a failed copy. If its end is unknown, it may still use the slab: the pool never hands that slab out again. */
    private void failed(Slot slot, String call, int result) {
        PieceFailures listener = failures;
        if (listener == null) {
            throw new IllegalStateException("no transfer");
        }
        listener.failed(slot.piece, CudaErrors.failure(cuda, call, result).build());
        Slab slab = slot.slab;
        if (slab != null && cuda.streamSynchronize(stream) != Cuda.SUCCESS) {
            pool.abandon(slab);
            slot.slab = null;
        }
    }

    private void giveBack(@Nullable CopyLane taken) {
        for (Slot slot : slots) {
            Slab slab = slot.slab;
            if (slab != null) {
                slot.slab = null;
                pool.release(slab);
            }
        }
        held = 0;
        if (taken != null) {
            gpu.give(taken);
        }
    }
}
