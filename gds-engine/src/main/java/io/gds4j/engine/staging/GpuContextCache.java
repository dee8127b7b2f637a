package io.gds4j.engine.staging;

import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.memory.MemoryRange;

/** A cache of the last contexts of GPU memory, so that a request allocates nothing. */
public final class GpuContextCache {
    private static final int REMEMBERED = 8;

    private final CudaContexts contexts;
    private final GpuContext[] known = new GpuContext[REMEMBERED];
    private int oldest;

    public GpuContextCache(CudaContexts contexts) {
        this.contexts = contexts;
    }

    /**
     * Returns the context of the memory.
     *
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_INVALID if the driver does not know the address
     */
    public GpuContext of(MemoryRange range) {
        return of(contexts.contextOf(range.address(), range.device()));
    }

    /** Returns the context with this handle. */
    public GpuContext of(long handle) {
        long id = contexts.idOf(handle);
        for (GpuContext context : known) {
            if (context != null && context.handle() == handle && context.id() == id) {
                return context;
            }
        }
        GpuContext context = new GpuContext(handle, id);
        known[oldest] = context;
        oldest = (oldest + 1) % REMEMBERED;
        return context;
    }
}
