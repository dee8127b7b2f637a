package io.gds4j.engine.kernel;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.Map;
import java.util.Objects;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The gather kernels of a driver, one for each CUDA context. All its sessions share them. Thread-safe. */
public final class GatherKernels {
    /** Keys are weak. No value may refer to its key, directly or by way of the driver. */
    private static final Map<CudaContexts, GatherKernels> BY_DRIVER = new WeakHashMap<>();

    private final ConcurrentMap<Long, Known> byContextId = new ConcurrentHashMap<>();

    /**
     * @param kernel null if the driver refused it, which is final unless memory was exhausted
     * @param failure null if there is a kernel
     */
    private record Known(@Nullable GatherKernel kernel, @Nullable CuFileException failure) {
        boolean isFinal() {
            return failure == null || failure.error() != CuFileError.NOMEM_ERROR;
        }
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
        Known known = of(contexts).known(contexts, context, contexts.idOf(context));
        GatherKernel kernel = known.kernel();
        if (kernel == null) {
            CuFileException failure = Objects.requireNonNull(known.failure());
            throw CuFileException.builder("cuModuleLoadData").error(failure.error()).errno(failure.errno().orElse(0))
                    .detail("the driver refuses gds4j's copy kernel: %s: %s".formatted(failure.function(),
                            failure.detail()))
                    .cause(failure).build();
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
        return known(contexts, context, id).kernel();
    }

    private Known known(CudaContexts contexts, long context, long id) {
        Known before = byContextId.get(id);
        if (before != null) {
            return before;
        }
        AtomicReference<Known> asked = new AtomicReference<>();
        StreamWaits.of(contexts)
                .whileNone(() -> asked.set(byContextId.computeIfAbsent(id, missing -> loaded(contexts, context))));
        Known known = Objects.requireNonNull(asked.get());
        if (!known.isFinal()) {
            byContextId.remove(id, known);
        }
        return known;
    }

    private static Known loaded(CudaContexts contexts, long context) {
        int entered = contexts.enter(context);
        if (entered != Cuda.SUCCESS) {
            return new Known(null, CudaErrors.failure(contexts.cuda(), "cuCtxPushCurrent", entered).build());
        }
        try {
            return new Known(GatherKernel.load(contexts.cuda()), null);
        } catch (CuFileException e) {
            return new Known(null, e);
        } finally {
            contexts.leave();
        }
    }
}
