package io.gds4j.engine.kernel;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** The copy kernels of a driver, one for each CUDA context. All sessions over the driver share them. Thread-safe. */
public final class CopyKernels {
    /** Keys are weak. No value may refer to its key, directly or by way of the driver. */
    private static final Map<CudaContexts, CopyKernels> BY_DRIVER = new WeakHashMap<>();

    private final ConcurrentMap<Long, CopyKernel> byContextId = new ConcurrentHashMap<>();

    private CopyKernels() {
    }

    /**
     * Returns the kernel that copies within streams of a context. The first call for a context loads it at a time when no stream
     * waits.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses
     */
    public static CopyKernel of(CudaContexts contexts, long context) {
        CopyKernels kernels;
        synchronized (BY_DRIVER) {
            kernels = BY_DRIVER.computeIfAbsent(contexts, missing -> new CopyKernels());
        }
        return kernels.get(contexts, context);
    }

    private CopyKernel get(CudaContexts contexts, long context) {
        long id = contexts.idOf(context);
        CopyKernel known = byContextId.get(id);
        if (known == null) {
            StreamWaits.of(contexts)
                    .whileNone(() -> byContextId.computeIfAbsent(id, missing -> load(contexts, context)));
            known = byContextId.get(id);
        }
        return known;
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
