package io.gds4j.compat.transfer;

import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GpuContext;
import io.gds4j.engine.staging.GpuContextCache;
import io.gds4j.engine.staging.PreciseSleep;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.posix.Posix;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The tools with which one thread moves pieces: its file I/O, and a copy pipeline for each CUDA context that it has met. Each
 * worker has one, and so has each {@link RequestContext}, for the thread that waits for the request. Reused from transfer to
 * transfer. Used by one thread at a time.
 */
public final class ThreadContext {
    private final boolean heedsInterrupts;
    private final PieceIo io;
    private final BouncePool pool;
    private final PreciseSleep sleep;
    private final @Nullable CudaContexts contexts;
    private final @Nullable GpuContextCache contextCache;
    private final List<CopyPipeline> pipelines = new ArrayList<>();
    private @Nullable BooleanSupplier neededElsewhere;

    /**
     * A context without pipelines.
     *
     * @param heedsInterrupts for threads of callers: their interrupt ends the request
     * @param contexts null where there is no CUDA driver
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
        this.contexts = contexts;
        this.contextCache = contexts == null ? null : new GpuContextCache(contexts);
    }

    /** The thread is a worker: between pieces it asks whether another transfer needs it more. */
    void leaveWhen(BooleanSupplier isNeededElsewhere) {
        neededElsewhere = isNeededElsewhere;
    }

    /** True if the thread should leave its transfer to others. */
    boolean shouldLeave() {
        BooleanSupplier asked = neededElsewhere;
        return asked != null && asked.getAsBoolean();
    }

    boolean heedsInterrupts() {
        return heedsInterrupts;
    }

    public PieceIo io() {
        return io;
    }

    /** Finds contexts of GPU memory; null where there is no CUDA driver. */
    @Nullable
    public GpuContextCache contextCache() {
        return contextCache;
    }

    /** The copy pipeline of a CUDA context, made when the thread first meets that context. */
    public CopyPipeline pipeline(@Nullable GpuContext context) {
        if (context == null || contexts == null) {
            throw new IllegalStateException("no CUDA context");
        }
        for (int i = 0; i < pipelines.size(); i++) {
            if (pipelines.get(i).context().equals(context)) {
                return pipelines.get(i);
            }
        }
        CopyPipeline pipeline = new CopyPipeline(contexts, pool, context, sleep);
        pipelines.add(pipeline);
        return pipeline;
    }

    /** Makes what copies in a CUDA context need, once few streams wait for this process: then making it cannot block. */
    public void prepare(long context) {
        if (contextCache != null) {
            CopyPipeline pipeline = pipeline(contextCache.of(context));
            if (!pipeline.isPrepared()) {
                pool.waits().awaitFew();
                pipeline.prepareAhead();
            }
        }
    }

    /** Frees the pipelines' streams and events. */
    void close() {
        pipelines.forEach(CopyPipeline::close);
        pipelines.clear();
    }
}
