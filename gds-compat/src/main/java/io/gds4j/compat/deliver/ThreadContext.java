package io.gds4j.compat.deliver;

import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.staging.CopySlots;
import io.gds4j.engine.staging.GatherCopy;
import io.gds4j.engine.staging.ManyContexts;
import io.gds4j.engine.staging.OneContext;
import io.gds4j.engine.staging.PreciseSleep;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.posix.Posix;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The tools with which one thread moves pieces: its file I/O, and what copies to the CUDA contexts that it has met. Each
 * worker has one, and so has each {@code RequestContext}, for the thread that waits for the request. Reused from transfer to
 * transfer. Used by one thread at a time.
 */
public final class ThreadContext {
    private final boolean heedsInterrupts;
    private final PieceIo io;
    private final BouncePool pool;
    private final PreciseSleep sleep;
    private final CopySlots slots;
    private final OneContext one;
    private @Nullable ManyContexts many;
    private final List<GatherCopy> gathers = new ArrayList<>();
    private @Nullable BooleanSupplier neededElsewhere;

    /**
     * Creates a context that has met no CUDA context.
     *
     * @param heedsInterrupts true for callers: an interrupt of the thread ends the request
     * @param contexts null if there is no CUDA driver
     */
    public ThreadContext(
            boolean heedsInterrupts,
            Posix posix,
            PathCounters counters,
            BouncePool pool,
            @Nullable CudaContexts contexts) {
        this.heedsInterrupts = heedsInterrupts;
        this.io = new PieceIo(posix, counters);
        this.pool = pool;
        this.sleep = new PreciseSleep(posix);
        this.slots = new CopySlots(contexts, pool, sleep);
        this.one = new OneContext(slots);
    }

    /** Sets the question that a worker asks between pieces: whether another transfer needs the worker more. */
    public void leaveWhen(BooleanSupplier isNeededElsewhere) {
        neededElsewhere = isNeededElsewhere;
    }

    /** Returns whether the thread should leave its transfer to others. */
    boolean shouldLeave() {
        BooleanSupplier question = neededElsewhere;
        return question != null && question.getAsBoolean();
    }

    public boolean heedsInterrupts() {
        return heedsInterrupts;
    }

    public PieceIo io() {
        return io;
    }

    /** Returns the slabs of the transfer, and the waits for their copies. */
    public CopySlots slots() {
        return slots;
    }

    /** Returns what copies between the slots and one CUDA context. */
    public OneContext one() {
        return one;
    }

    /** Returns what copies between the slots and several CUDA contexts. Few programs need it. */
    ManyContexts many() {
        ManyContexts known = many;
        if (known == null) {
            known = new ManyContexts(slots);
            many = known;
        }
        return known;
    }

    /** Returns what copies to a CUDA context by a kernel. The first call for a context makes it. */
    public GatherCopy gather(PreparedGpu gpu) {
        for (int i = 0; i < gathers.size(); i++) {
            if (gathers.get(i).gpu() == gpu) {
                return gathers.get(i);
            }
        }
        gathers.removeIf(known -> known.gpu().isGone());
        GatherCopy gather = new GatherCopy(gpu, pool, sleep);
        gathers.add(gather);
        return gather;
    }
}
