package io.gds4j.engine.kernel;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The gather kernels of a driver, one for each CUDA context. A request that finds none goes on without it, because loading takes
 * milliseconds and may wait for streams; a thread that has nothing else to do loads it. Thread-safe.
 */
public final class GatherKernels {
    /** Number of requests for which a kernel pays: loading one takes tens of milliseconds, for which the end of a driver waits. */
    private static final int WORTH_LOADING = 8;

    /** Weak keys: nothing here may refer to the contexts, nor to the driver, which may refer to them. */
    private static final Map<CudaContexts, GatherKernels> BY_DRIVER = new WeakHashMap<>();

    private final ConcurrentMap<Long, Known> byContextId = new ConcurrentHashMap<>();
    private final AtomicReference<@Nullable Wish> wish = new AtomicReference<>();
    private final AtomicBoolean loading = new AtomicBoolean();

    /** Number of requests that have found no kernel. */
    private final AtomicInteger misses = new AtomicInteger();

    /** @param kernel null if the driver refused it, which is final */
    private record Known(@Nullable GatherKernel kernel) {
    }

    private record Wish(long context, long id) {
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
     * Returns the kernel of a context; null if it is not loaded. After several such requests it will be.
     *
     * @param id tells the context from a later one at the same address
     */
    public @Nullable GatherKernel wish(long context, long id) {
        Known known = byContextId.get(id);
        if (known == null) {
            if (misses.incrementAndGet() >= WORTH_LOADING) {
                wish.set(new Wish(context, id));
            }
            return null;
        }
        return known.kernel();
    }

    /**
     * Returns the kernel of a context. The first call for a context loads it at a time when no stream waits.
     *
     * @throws CuFileException if the driver refuses
     */
    public static GatherKernel of(CudaContexts contexts, long context) {
        return of(contexts).get(contexts, context, contexts.idOf(context));
    }

    private GatherKernel get(CudaContexts contexts, long context, long id) {
        Known known = byContextId.get(id);
        if (known == null) {
            StreamWaits.of(contexts).whileNone(() -> byContextId.computeIfAbsent(
                    id, missing -> load(contexts, new Wish(context, id))));
            known = byContextId.get(id);
        }
        GatherKernel kernel = known == null ? null : known.kernel();
        if (kernel == null) {
            throw CuFileException.of(
                    CuFileError.CUDA_DRIVER_ERROR, "cuModuleLoadData", "the driver refuses gds4j's copy kernel");
        }
        return kernel;
    }

    /** Returns whether the driver has refused the kernel of a context. */
    public boolean isRefused(long id) {
        Known known = byContextId.get(id);
        return known != null && known.kernel() == null;
    }

    /** Returns whether a request has wished for a kernel and no thread loads one now. */
    public boolean hasWish() {
        return wish.get() != null && !loading.get();
    }

    /** Loads the kernel that a request has wished for last, unless streams wait for this process or another thread loads it. */
    public void loadWished(CudaContexts contexts) {
        StreamWaits waits = StreamWaits.of(contexts);
        if (!hasWish() || !waits.tryEnterCall()) {
            return;
        }
        try {
            if (loading.compareAndSet(false, true)) {
                loadTaken(contexts, wish.getAndSet(null));
            }
        } finally {
            waits.leaveCall();
        }
    }

    private void loadTaken(CudaContexts contexts, @Nullable Wish taken) {
        try {
            if (taken != null) {
                byContextId.computeIfAbsent(taken.id(), missing -> load(contexts, taken));
            }
        } finally {
            loading.set(false);
        }
    }

    private static Known load(CudaContexts contexts, Wish wish) {
        try {
            CudaErrors.check(contexts.cuda(), "cuCtxPushCurrent", contexts.enter(wish.context()));
            try {
                return new Known(GatherKernel.load(contexts.cuda()));
            } finally {
                contexts.leave();
            }
        } catch (CuFileException e) {
            return new Known(null);
        }
    }
}
