package io.gds4j.ffi.cufile;

import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;

/**
 * Which CUDA context GPU memory belongs to. Asking the driver takes a tenth of a microsecond, so the answer is kept with the
 * allocation: one that is open stays where it is. Memory without an owner is asked for each time, since nobody says when it is
 * freed.
 */
final class KnownContexts {
    private final CudaContexts contexts;

    /** @param by whose answer it is */
    private record Known(CudaContexts by, long context) {
    }

    KnownContexts(CudaContexts contexts) {
        this.contexts = contexts;
    }

    /**
     * The context of a range of GPU memory that is in use.
     *
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_INVALID if the driver does not know it
     */
    long contextOf(MemoryRange memory) {
        MemoryAllocation owner = memory.owner().orElse(null);
        if (owner != null && owner.note() instanceof Known known && known.by == contexts) {
            return known.context;
        }
        long context = contexts.contextOf(memory.address(), memory.device());
        if (owner != null) {
            owner.note(new Known(contexts, context));
        }
        return context;
    }
}
