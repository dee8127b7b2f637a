package io.gds4j.engine.kernel;

import io.gds4j.engine.memory.PerContext;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;

/** The copy kernels, one for each CUDA context. Thread-safe. */
public final class CopyKernels {
    private static final PerContext<CopyKernel> KERNELS = new PerContext<>(CopyKernels::load);

    private CopyKernels() {
    }

    /**
     * Returns the kernel that copies within streams of a context. The first call for a context loads it at a time when no stream
     * waits.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses
     */
    public static CopyKernel of(CudaContexts contexts, long context) {
        return KERNELS.of(contexts, context);
    }

    private static CopyKernel load(CudaContexts contexts, long context) {
        CudaErrors.check(contexts.cuda(), "cuCtxPushCurrent", contexts.enter(context));
        try {
            return CopyKernel.load(contexts.cuda());
        } finally {
            contexts.leave();
        }
    }
}
