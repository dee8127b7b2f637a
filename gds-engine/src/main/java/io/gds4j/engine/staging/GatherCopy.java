package io.gds4j.engine.staging;

import io.gds4j.engine.kernel.GatherKernel;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.internal.trace.FlightEvents;
import io.gds4j.internal.trace.FlightEvents.PieceCopy;
import io.gds4j.internal.trace.FlightEvents.PieceWait;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Copies the pieces of one request to one CUDA context with one kernel, which waits on the GPU until they have arrived in slabs. Threads
 * that read pieces call no driver. A copy engine copies what the kernel does not: the program's own kernels may occupy the GPU.
 *
 * <p>
 * One thread begins and settles requests; between the two any thread may say that a piece has {@link #arrived}.
 */
public final class GatherCopy {
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final BouncePool pool;
    private final PreparedGpu gpu;
    private final PreciseSleep sleep;
    private final List<Slab> slabs = new ArrayList<>();

    /** Number of pieces that have arrived: the next one's number on the board, so that blocks wait for the first to come. */
    private final AtomicInteger arrivals = new AtomicInteger();

    private final long[] numbers = new long[PieceBoard.PIECES];
    private final long[] sources = new long[PieceBoard.PIECES];
    private final long[] targets = new long[PieceBoard.PIECES];
    private final long[] counts = new long[PieceBoard.PIECES];

    /** Between begin and settle. */
    private @Nullable CopyLane lane;

    private int request;
    private int pieces;

    /** Bytes of all pieces. */
    private long total;
    private boolean launched;

    /** The event of the kernel's copies; null unless a recording wants it. */
    private @Nullable PieceCopy copying;

    /** The time from which on kernels may be used again; 0 if they may. */
    private long restsUntil;

    /** True once the context has failed, or its driver has refused what this needs. */
    private boolean broken;

    public GatherCopy(PreparedGpu gpu, BouncePool pool, PreciseSleep sleep) {
        this.gpu = gpu;
        this.contexts = gpu.contexts();
        this.cuda = contexts.cuda();
        this.pool = pool;
        this.sleep = sleep;
    }

    public PreparedGpu gpu() {
        return gpu;
    }

    /** Returns whether a request may {@link #begin} now. */
    public boolean isReady() {
        return gpu.kernel() != null && !broken && !pool.waits().any() && !isResting();
    }

    private boolean isResting() {
        if (restsUntil != 0 && System.nanoTime() - restsUntil < 0) {
            return true;
        }
        restsUntil = 0;
        return false;
    }

    /**
     * Begins a request: takes a lane, and slabs for all its bytes. {@link #settle} follows if this returns true.
     *
     * @param listener the request
     * @param ofRequest number of pieces that will arrive, at most {@link PieceBoard#PIECES}
     * @param bytes bytes of slabs
     * @return false if this is not ready or there are too few slabs
     */
    public boolean begin(PieceFailures listener, int ofRequest, long bytes) {
        if (lane != null) {
            throw new IllegalStateException("the request before is not settled");
        }
        CopyLane taken = isReady() ? gpu.take(listener) : null;
        if (taken == null) {
            return false;
        }
        boolean begun = false;
        try {
            begun = mayUse(taken) && takeSlabs(listener, bytes);
        } finally {
            if (!begun) {
                gpu.give(taken);
            }
        }
        if (begun) {
            lane = taken;
            pieces = ofRequest;
            total = bytes;
            launched = false;
            arrivals.set(0);
            request = taken.board().begin();
        }
        return begun;
    }

    /** Returns false while a kernel that was called off may still read the lane's board. */
    private boolean mayUse(CopyLane taken) {
        if (taken.isBehind()) {
            boolean behind = contexts.in(
                    gpu.handle(), () -> cuda.streamQuery(taken.kernelStream())) != Cuda.SUCCESS;
            taken.setBehind(behind);
            restsUntil = behind ? System.nanoTime() + TransferCosts.GATHER_REST_NANOS : 0;
        }
        return !taken.isBehind();
    }

    private CopyLane lane() {
        CopyLane taken = lane;
        if (taken == null) {
            throw new IllegalStateException("no request has begun");
        }
        return taken;
    }

    private boolean takeSlabs(PieceFailures listener, long bytes) {
        long left = bytes;
        while (left > 0) {
            long wanted = Math.min(left, pool.pieceSize());
            // Only a thread that holds none may wait for one.
            Slab slab = slabs.isEmpty() ? pool.acquire(wanted, true, listener) : pool.tryAcquire(wanted);
            if (slab != null) {
                slabs.add(slab);
            }
            if (slab == null || !slab.block().isPinned()) {
                giveBack();
                return false;
            }
            left -= pool.pieceSize();
        }
        return true;
    }

    /**
     * Starts the kernel. Without this, {@link #settle} has a copy engine copy everything.
     *
     * @param readers number of threads that read pieces
     */
    public void launch(int readers) {
        GatherKernel loaded = gpu.kernel();
        if (loaded != null && lane().push() == Cuda.SUCCESS) {
            long begun = System.nanoTime();
            copying = FlightEvents.pieceCopy();
            launched =
                    loaded.launch(cuda, lane().board(), request, pieces, ahead(readers),
                            lane().kernelStream()) == Cuda.SUCCESS;
            long now = System.nanoTime();
            restsUntil = now - begun < TransferCosts.SLOW_LAUNCH_NANOS ? 0 : now + TransferCosts.GATHER_LONG_REST_NANOS;
            lane().pop();
        }
    }

    /** Returns the number of pieces that the kernel waits for at a time: the next ones that threads read. */
    private int ahead(int readers) {
        return readers > TransferCosts.FEW_READERS
                ? pieces
                : (int) Math.min(pieces, readers * Math.ceilDiv(TransferCosts.GATHER_AHEAD, total / pieces));
    }

    /** Returns the place of a byte in the slabs, whose offset within a page is the same. Pieces are contiguous. */
    public long place(long offset) {
        long size = pool.pieceSize();
        return slabs.get((int) (offset / size)).address() + offset % size;
    }

    /**
     * Has a piece copied, which arrives once.
     *
     * @param piece its number, for failures
     * @param source its bytes, in a slab
     * @param bytes 0 for nothing
     */
    public void arrived(long piece, long source, long target, long bytes) {
        PieceBoard words = lane().board();
        int place = arrivals.getAndIncrement();
        numbers[place] = piece;
        sources[place] = source;
        targets[place] = target;
        counts[place] = bytes;
        words.arrived(request, place, source, target, bytes);
    }

    /** Waits until all pieces that have arrived are copied, and gives the slabs back. No piece may arrive any more. */
    public void settle(PieceFailures listener) {
        CopyLane taken = lane();
        PieceBoard words = taken.board();
        PieceWait waiting = FlightEvents.pieceWait();
        try {
            int arrived = arrivals.get();
            for (int place = arrived; place < pieces; place++) {
                words.end(request, place);
            }
            // Blocks that wait for a piece which did not arrive must have left before the board serves another request.
            if (!launched || arrived < pieces || !isCopiedSoon(words, TransferCosts.GATHER_PAUSE_NANOS)) {
                rescue(words, arrived, listener);
            }
        } finally {
            sleep.over();
            record(waiting, taken);
            giveBack();
            lane = null;
            gpu.give(taken);
        }
        gpu.finish();
    }

    private void record(@Nullable PieceWait waiting, CopyLane taken) {
        if (waiting != null) {
            waiting.record(taken.gpu(), PieceWait.COPY);
        }
        PieceCopy event = copying;
        if (event != null) {
            copying = null;
            long bytes = 0;
            for (int i = 0; i < arrivals.get(); i++) {
                bytes += counts[i];
            }
            event.record(taken.gpu(), bytes);
        }
    }

    private boolean isCopiedSoon(PieceBoard words, long pause) {
        int place = 0;
        for (int look = 0; look < TransferCosts.GATHER_QUIET_LOOKS; look++) {
            place = firstMissing(words, place);
            if (place == pieces) {
                return true;
            }
            sleep.sleep(pause);
        }
        return false;
    }

    /** Returns the first place from {@code place} on whose piece is not copied. */
    private int firstMissing(PieceBoard words, int place) {
        int next = place;
        while (next < pieces && words.isCopied(request, next)) {
            next++;
        }
        return next;
    }

    /** Waits for the kernel, or sees to it that it copies nothing any more. Then a copy engine copies what is left. */
    private void rescue(PieceBoard words, int arrived, PieceFailures listener) {
        int entered = lane().push();
        if (entered != Cuda.SUCCESS) {
            failed(words, arrived, listener, "cuCtxPushCurrent", entered);
            return;
        }
        try {
            int result = launched ? awaitKernel(words) : Cuda.SUCCESS;
            if (result != Cuda.SUCCESS) {
                failed(words, arrived, listener, "cuLaunchKernel", result);
                return;
            }
            boolean any = false;
            for (int i = 0; result == Cuda.SUCCESS && i < arrived; i++) {
                if (counts[i] > 0 && !words.isCopied(request, i)) {
                    result = lane().toGpu(targets[i], sources[i], counts[i], true);
                    any = true;
                }
            }
            int complete = any ? lane().synchronize() : Cuda.SUCCESS;
            if (complete != Cuda.SUCCESS) {
                failed(words, arrived, listener, "cuMemcpyHtoDAsync", complete);
            } else if (result != Cuda.SUCCESS) {
                report(words, arrived, listener, "cuMemcpyHtoDAsync", result); // nothing uses the slabs any more
            }
        } finally {
            lane().pop();
        }
    }

    /** Returns SUCCESS once the kernel has copied all pieces or ended, or will copy nothing any more. */
    private int awaitKernel(PieceBoard words) {
        long since = System.nanoTime();
        int copied = 0;
        long stream = lane().kernelStream();
        int result = cuda.streamQuery(stream);
        while (result == Cuda.ERROR_NOT_READY && !isCopiedSoon(words, TransferCosts.GATHER_LONG_PAUSE_NANOS)) {
            int now = firstMissing(words, copied);
            if (now > copied) {
                copied = now;
                since = System.nanoTime();
            } else if (System.nanoTime() - since >= TransferCosts.GATHER_PATIENCE_NANOS && isCalledOff(words)) {
                return Cuda.SUCCESS;
            }
            result = cuda.streamQuery(stream);
        }
        return result == Cuda.ERROR_NOT_READY ? Cuda.SUCCESS : result;
    }

    /** Tells the kernel to copy nothing more; a block at work still may. */
    private void callOff(PieceBoard words) {
        for (int place = 0; place < pieces; place++) {
            if (!words.isCopied(request, place)) {
                words.end(request, place);
            }
        }
    }

    /** As {@link #callOff}. Returns false while a block may still copy. */
    private boolean isCalledOff(PieceBoard words) {
        callOff(words);
        if (words.isAnyAtWork(request)) {
            return false;
        }
        lane().setBehind(true);
        restsUntil = System.nanoTime() + TransferCosts.GATHER_REST_NANOS;
        return true;
    }

    /** Reports what was not copied. It is not known what may still use the slabs, and the board: the pool never hands the slabs out again. */
    private void failed(PieceBoard words, int arrived, PieceFailures listener, String call, int result) {
        broken = true;
        lane().setBehind(lane().isBehind() || launched);
        callOff(words); // a kernel that begins later must not write to memory which the program uses for something else by then
        report(words, arrived, listener, call, result);
        for (int i = 0; i < slabs.size(); i++) {
            pool.abandon(slabs.get(i));
        }
        slabs.clear();
    }

    private void report(PieceBoard words, int arrived, PieceFailures listener, String call, int result) {
        for (int i = 0; i < arrived; i++) {
            if (counts[i] > 0 && !words.isCopied(request, i)) {
                listener.failed(numbers[i], CudaErrors.failure(cuda, call, result).build());
            }
        }
    }

    private void giveBack() {
        for (int i = 0; i < slabs.size(); i++) {
            pool.release(slabs.get(i));
        }
        slabs.clear();
    }
}
