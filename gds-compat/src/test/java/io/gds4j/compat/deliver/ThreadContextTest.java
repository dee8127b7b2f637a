package io.gds4j.compat.deliver;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.staging.GatherCopy;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.engine.staging.PreparedGpus;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import java.lang.ref.WeakReference;
import org.junit.jupiter.api.Test;

/** What a thread keeps of the contexts that it has met. */
class ThreadContextTest {
    private static final int COLLECTIONS = 100;

    private final FakeCuda cuda = new FakeCuda();
    private final CudaContexts contexts = cuda.available().cudaContexts().orElseThrow();
    private final BouncePool pool =
            new BouncePool(FfmPosix.instance(), CuFileConfig.defaults());
    private final PreparedGpus gpus = new PreparedGpus(contexts, pool);
    private final ThreadContext thread =
            new ThreadContext(true, FfmPosix.instance(), new PathCounters(), pool, contexts);

    private WeakReference<GatherCopy> gatherAndDestroy() {
        long context = cuda.createContext(0);
        PreparedGpu gpu = gpus.of(context);
        gpu.prepare();
        GatherCopy gather = thread.gather(gpu);
        assertThat(thread.gather(gpu)).isSameAs(gather);
        cuda.destroyContext(context);
        return new WeakReference<>(gather);
    }

    @Test
    void destroyedContextsAreForgotten() {
        PreparedGpu primary = gpus.of(contexts.primary(0));
        primary.prepare();
        GatherCopy kept = thread.gather(primary);
        WeakReference<GatherCopy> destroyed = gatherAndDestroy();
        gatherAndDestroy();
        for (int i = 0; i < COLLECTIONS && destroyed.get() != null; i++) {
            System.gc();
        }
        assertThat(destroyed.get()).isNull();
        assertThat(thread.gather(primary)).isSameAs(kept);
        gpus.close();
        pool.close();
    }
}
