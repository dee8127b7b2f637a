package io.gds4j.compat;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.function.Consumer;

/**
 * The way to the memory of one CUDA context: makes it current for the work and restores what was current before.
 *
 * @param context context that the memory belongs to
 * @param contextId what tells it from a later one at the same address
 */
record GpuPort(Cuda cuda, BouncePool pool, long context, long contextId) {

    /** Runs work with a ring whose slabs hold {@code bytes}; all copies are complete, or have failed, on return. */
    void run(Transfer transfer, Lane lane, long bytes, Consumer<GpuRing> work) {
        GpuRing ring = lane.ring(cuda, pool, context, contextId);
        try {
            ring.takeFirstSlab(bytes);
        } catch (RuntimeException e) {
            fail(transfer, lane, e);
            return;
        }
        try {
            CudaErrors.check(cuda, "cuCtxPushCurrent", cuda.ctxPushCurrent(context));
            try {
                ring.prepare();
                work.accept(ring);
            } catch (RuntimeException e) {
                fail(transfer, lane, e);
            } finally {
                ring.drain(transfer);
                cuda.ctxPopCurrent(ring.scratch());
            }
        } catch (RuntimeException e) {
            fail(transfer, lane, e);
        } finally {
            ring.giveBack();
        }
    }

    /** A runner that cannot work: the request fails at the first piece that nobody has taken. */
    private static void fail(Transfer transfer, Lane lane, RuntimeException cause) {
        long piece = transfer.claim(lane);
        if (piece >= 0) {
            transfer.stop(piece, 0, 0, cause);
        }
    }
}
