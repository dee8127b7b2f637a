package io.gds4j.compat;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.memory.MemoryRange;

/** Finds the way to a range of GPU memory: the context it belongs to. */
final class GpuPorts {
    private final CudaContexts contexts;
    private final BouncePool pool;

    GpuPorts(CudaContexts contexts, BouncePool pool) {
        this.contexts = contexts;
        this.pool = pool;
    }

    /**
     * The port to the memory.
     *
     * @throws CuFileException CUDA_POINTER_INVALID if the driver does not know the address
     */
    GpuPort to(MemoryRange range) {
        long context = contexts.contextOf(range.address(), range.device());
        return new GpuPort(contexts.cuda(), pool, context, contexts.idOf(context));
    }
}
