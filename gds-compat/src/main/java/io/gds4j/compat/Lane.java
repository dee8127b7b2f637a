package io.gds4j.compat;

import io.gds4j.ffi.cuda.Cuda;
import java.util.ArrayList;
import java.util.List;

/**
 * What one thread at work needs for itself: where an errno comes back, and a stream with its events for each CUDA context it
 * has met. Used by one thread at a time.
 */
final class Lane {
    private final PieceIo.Outcome outcome = new PieceIo.Outcome();
    private final boolean heedsInterrupts;
    private final List<GpuRing> rings = new ArrayList<>();

    /**
     * @param heedsInterrupts for lanes that callers borrow: their thread's interrupt ends the request
     */
    Lane(boolean heedsInterrupts) {
        this.heedsInterrupts = heedsInterrupts;
    }

    PieceIo.Outcome outcome() {
        return outcome;
    }

    boolean heedsInterrupts() {
        return heedsInterrupts;
    }

    /**
     * The ring of a context, made when it is first met.
     *
     * @param contextId what tells a context from a later one at the same address
     */
    GpuRing ring(Cuda cuda, BouncePool pool, long context, long contextId) {
        for (int i = 0; i < rings.size(); i++) {
            if (rings.get(i).contextId() == contextId) {
                return rings.get(i);
            }
        }
        GpuRing ring = new GpuRing(cuda, pool, context, contextId);
        rings.add(ring);
        return ring;
    }

    /** Frees streams and events. */
    void close() {
        rings.forEach(GpuRing::close);
        rings.clear();
    }
}
