package io.gds4j.engine.kernel;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/** The gather kernels of a driver, one for each CUDA context. All its sessions share them. Thread-safe. */
public final class GatherKernels {
    /** Keys are weak. No value may refer to its key, directly or by way of the driver. */
    private static final Map<CudaContexts, GatherKernels> BY_DRIVER = new WeakHashMap<>();

    private final ConcurrentMap<Long, Known> byContextId = new ConcurrentHashMap<>();

    /** @param kernel null if the driver refused it, which is final */
    private record Known(@Nullable GatherKernel kernel) {
    }

    private GatherKernels() {
    }

    /** Returns the kernels of a driver, which all its sessions share. */
    public static GatherKernels of(CudaContexts contexts) {
        synchronized (BY_DRIVER) {
            return BY_DRIVER.computeIfAbsent(contexts, missing -> new GatherKernels());
        }
    }

    /**
     * Returns the kernel of a context. The first call for a context loads it at a time when no stream waits.
     *
     * @throws CuFileException if the driver refuses
     */
    public static GatherKernel of(CudaContexts contexts, long context) {
        GatherKernel kernel = of(contexts).load(contexts, context, contexts.idOf(context));
        if (kernel == null) {
            throw CuFileException.of(
                    CuFileError.CUDA_DRIVER_ERROR, "cuModuleLoadData", "the driver refuses gds4j's copy kernel");
        }
        return kernel;
    }

    /**
     * Returns the kernel of a context. The first call for a context loads it at a time when no stream waits, which takes tens of
     * milliseconds.
     *
     * @param id tells the context from a later one at the same address
     * @return null if the driver refuses it
     */
    public @Nullable GatherKernel load(CudaContexts contexts, long context, long id) {
        Known known = byContextId.get(id);
        if (known == null) {
            StreamWaits.of(contexts)
                    .whileNone(() -> byContextId.computeIfAbsent(id, missing -> loaded(contexts, context)));
            known = byContextId.get(id);
        }
        return known == null ? null : known.kernel();
    }

    private static Known loaded(CudaContexts contexts, long context) {
        int entered = contexts.enter(context);
        if (entered != Cuda.SUCCESS) {
            return new Known(null);
        }
        try {
            return new Known(GatherKernel.load(contexts.cuda()));
        } catch (CuFileException e) {
            return new Known(null);
        } finally {
            contexts.leave();
        }
    }
}
