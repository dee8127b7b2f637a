package io.gds4j.compat;

import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.posix.Posix;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one thread at work needs for itself, kept from request to request: where an errno comes back, the request it may begin,
 * and a ring for each CUDA context it has met. Used by one thread at a time.
 */
final class Lane {
    private final PieceIo.Outcome outcome = new PieceIo.Outcome();
    private final boolean heedsInterrupts;
    private final BouncePool pool;
    private final PreciseSleep sleep;
    private final @Nullable CudaContexts contexts;
    private final @Nullable GpuContextCache contextCache;
    private final List<GpuRing> rings = new ArrayList<>();
    private final HostTransfer hostTransfer;
    private final DeviceRead deviceRead;
    private final DeviceWrite deviceWrite;
    private @Nullable Crew crew;

    /**
     * A lane without rings yet.
     *
     * @param heedsInterrupts for lanes that callers borrow: their thread's interrupt ends the request
     */
    Lane(
            boolean heedsInterrupts,
            Posix posix,
            PieceIo io,
            BouncePool pool,
            @Nullable CudaContexts contexts) {
        this.heedsInterrupts = heedsInterrupts;
        this.pool = pool;
        this.sleep = new PreciseSleep(posix);
        this.contexts = contexts;
        this.contextCache = contexts == null ? null : new GpuContextCache(contexts);
        this.hostTransfer = new HostTransfer(io);
        this.deviceRead = new DeviceRead(io);
        this.deviceWrite = new DeviceWrite(io);
    }

    /** The lane is a worker's of this crew. */
    void belongTo(Crew workers) {
        crew = workers;
    }

    /** True for a worker that is one of several here while another request has none. */
    boolean shouldLeave(Transfer transfer) {
        return crew != null && crew.hasStarving() && transfer.runners() > 1;
    }

    PieceIo.Outcome outcome() {
        return outcome;
    }

    boolean heedsInterrupts() {
        return heedsInterrupts;
    }

    HostTransfer hostTransfer() {
        return hostTransfer;
    }

    DeviceRead deviceRead() {
        return deviceRead;
    }

    DeviceWrite deviceWrite() {
        return deviceWrite;
    }

    /** Finds contexts of GPU memory; null where there is no CUDA driver. */
    @Nullable
    GpuContextCache contextCache() {
        return contextCache;
    }

    /** The ring of a context, made when it is first met. */
    GpuRing ring(@Nullable GpuContext context) {
        if (context == null || contexts == null) {
            throw new IllegalStateException("no CUDA context");
        }
        for (int i = 0; i < rings.size(); i++) {
            if (rings.get(i).context().equals(context)) {
                return rings.get(i);
            }
        }
        GpuRing ring = new GpuRing(contexts, pool, context, sleep);
        rings.add(ring);
        return ring;
    }

    /** Makes now what copies in a context need, at a time when that waits for nobody. */
    void prepare(long context, BouncePool waiting) {
        if (contextCache != null) {
            GpuRing ring = ring(contextCache.of(context));
            if (!ring.isPrepared()) {
                waiting.waits().awaitFew();
                ring.prepareAhead();
            }
        }
    }

    /** Frees streams, events and rings. */
    void close() {
        rings.forEach(GpuRing::close);
        rings.clear();
    }
}
