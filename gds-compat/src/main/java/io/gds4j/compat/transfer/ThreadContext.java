package io.gds4j.compat.transfer;

import io.gds4j.engine.kernel.GatherKernels;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GatherCopy;
import io.gds4j.engine.staging.GpuContext;
import io.gds4j.engine.staging.GpuContextCache;
import io.gds4j.engine.staging.PreciseSleep;
import io.gds4j.engine.staging.ScatterPipeline;
import io.gds4j.engine.staging.Slab;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileException;
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
    private final ScatterPipeline scatterPipeline;
    private final List<CopyPipeline> pipelines = new ArrayList<>();
    private final List<GatherCopy> gathers = new ArrayList<>();
    private final @Nullable GatherKernels kernels;
    private @Nullable BooleanSupplier neededElsewhere;

    /**
     * Creates a context without pipelines.
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
        this.contexts = contexts;
        this.scatterPipeline = new ScatterPipeline(contexts, pool, sleep);
        this.kernels = contexts == null ? null : GatherKernels.of(contexts);
        this.contextCache = contexts == null ? null : new GpuContextCache(contexts);
    }

    /** Sets the question that a worker asks between pieces: whether another transfer needs the worker more. */
    void leaveWhen(BooleanSupplier isNeededElsewhere) {
        neededElsewhere = isNeededElsewhere;
    }

    /** Returns whether the thread should leave its transfer to others. */
    boolean shouldLeave() {
        BooleanSupplier question = neededElsewhere;
        return question != null && question.getAsBoolean();
    }

    boolean heedsInterrupts() {
        return heedsInterrupts;
    }

    public PieceIo io() {
        return io;
    }

    /** Returns the cache of CUDA contexts; null if there is no CUDA driver. */
    @Nullable
    public GpuContextCache contextCache() {
        return contextCache;
    }

    /** Returns the copy pipeline of a CUDA context. The first call for a context makes it. */
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

    /** Returns what copies to a CUDA context by a kernel. The first call for a context makes it. */
    GatherCopy gather(@Nullable GpuContext context) {
        if (context == null || contexts == null || kernels == null) {
            throw new IllegalStateException("no CUDA context");
        }
        for (int i = 0; i < gathers.size(); i++) {
            if (gathers.get(i).context().equals(context)) {
                return gathers.get(i);
            }
        }
        GatherCopy gather = new GatherCopy(contexts, pool, context, kernels, sleep);
        gathers.add(gather);
        return gather;
    }

    /** Returns whether a request has missed its kernel. */
    boolean missesKernel() {
        return kernels != null && kernels.hasWish();
    }

    /** Loads the kernel that a request has missed, if any. For a thread that has nothing else to do. */
    void loadKernel() {
        if (contexts != null && kernels != null) {
            kernels.loadWished(contexts);
        }
    }

    /** Returns the pipeline to several contexts. */
    ScatterPipeline scatterPipeline() {
        return scatterPipeline;
    }

    /** Prepares the copy pipeline of a CUDA context. Waits until few streams wait for this process: then that cannot block. */
    public void prepare(long context) {
        if (contextCache != null) {
            CopyPipeline pipeline = pipeline(contextCache.of(context));
            if (!pipeline.isPrepared()) {
                pool.waits().awaitFew();
                pipeline.prepareAhead();
            }
        }
    }

    /**
     * Prepares for the first request of a GPU: clears slabs while another thread may still make the GPU's primary context, then pins
     * them. Both take milliseconds. Does nothing while streams wait for this process, because pinning would wait for them. A
     * failure is left to the request.
     *
     * @param slabs number of slabs; this thread holds them, so that each thread prepares others
     */
    void rehearse(int gpu, int slabs) {
        if (contexts == null || contextCache == null || pool.waits().any()) {
            return;
        }
        List<Slab> held = new ArrayList<>(slabs);
        try {
            pool.takeCleared(pool.pieceSize(), slabs, held);
            CopyPipeline pipeline = pipeline(contextCache.of(contexts.primary(gpu)));
            held.forEach(pool::pin);
            pipeline.prepareAhead();
        } catch (CuFileException | OutOfMemoryError e) {
            // The request that needs this meets the same failure and reports it.
        } finally {
            held.forEach(pool::release);
        }
    }

    /** Frees what copies to CUDA contexts. */
    void close() {
        pipelines.forEach(CopyPipeline::close);
        pipelines.clear();
        gathers.forEach(GatherCopy::close);
        gathers.clear();
        scatterPipeline.close();
    }
}
