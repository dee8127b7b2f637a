package io.gds4j.engine.memory;

import io.gds4j.ffi.cuda.CudaContexts;
import java.util.Map;
import java.util.Objects;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * What each CUDA context has one of, such as a kernel. All sessions over a driver share it. The first call for a context loads it at a time
 * when no stream waits, because loading may wait for all streams. Thread-safe.
 *
 * @param <T> what a context has
 */
public final class PerContext<T> {
    /** Keys are weak. No value may refer to its key, directly or by way of the driver. */
    private final Map<CudaContexts, ConcurrentMap<Long, T>> byDriver = new WeakHashMap<>();

    private final Loading<T> loading;

    /** Loads it into a context. */
    @FunctionalInterface
    public interface Loading<T> {
        /** @throws io.gds4j.error.CuFileException if the driver refuses */
        T into(CudaContexts contexts, long context);
    }

    /** Loads nothing yet. */
    public PerContext(Loading<T> loading) {
        this.loading = loading;
    }

    /**
     * Returns what a context has.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses to load it; the next call tries again
     */
    public T of(CudaContexts contexts, long context) {
        ConcurrentMap<Long, T> byContextId;
        synchronized (byDriver) {
            byContextId = byDriver.computeIfAbsent(contexts, missing -> new ConcurrentHashMap<>());
        }
        long id = contexts.idOf(context);
        T known = byContextId.get(id);
        if (known == null) {
            StreamWaits.of(contexts).whileNone(
                    () -> byContextId.computeIfAbsent(id, missing -> loading.into(contexts, context)));
            known = byContextId.get(id);
        }
        return Objects.requireNonNull(known);
    }
}
