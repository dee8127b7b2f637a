package io.gds4j.libcufile.guard;

import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;

/**
 * Finds the CUDA context of GPU memory. Asking the driver takes 0.1 µs, so the answer is kept with the allocation,
 * which stays in its context while it is open. For memory without an owner the driver is asked each time, because gds4j
 * does not learn when it is freed.
 */
final class KnownContexts {
    private final CudaContexts contexts;

    KnownContexts(CudaContexts contexts) {
        this.contexts = contexts;
    }

    /**
     * Returns the context of GPU memory that is in use.
     *
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_INVALID if the driver does not know the memory
     */
    long contextOf(MemoryRange memory) {
        MemoryAllocation owner = memory.owner().orElse(null);
        if (owner != null) {
            long known = MemoryAccess.USES.cudaContext(owner, contexts);
            if (known != 0) {
                return known;
            }
        }
        long context = contexts.contextOf(memory.address(), memory.device());
        if (owner != null) {
            MemoryAccess.USES.rememberCudaContext(owner, contexts, context);
        }
        return context;
    }
}
