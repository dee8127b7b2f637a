package io.gds4j.engine.staging;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Contexts that a program makes and destroys again and again. */
class PreparedGpusTest {
    private static final int CONTEXTS = 20;
    private static final int COLLECTIONS = 100;

    private final FakeCuda cuda = new FakeCuda();
    private final CudaContexts contexts = cuda.available().cudaContexts().orElseThrow();
    private final BouncePool pool =
            new BouncePool(FfmPosix.instance(), CuFileConfig.defaults());
    private final PreparedGpus gpus = new PreparedGpus(contexts, pool);

    @AfterEach
    void nothingIsLeft() {
        gpus.close();
        pool.close();
        assertThat(cuda.violations()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }

    private WeakReference<PreparedGpu> prepareAndDestroy() {
        long context = cuda.createContext(0);
        PreparedGpu gpu = gpus.of(context);
        gpu.prepare();
        assertThat(gpu.isGone()).isFalse();
        cuda.destroyContext(context);
        assertThat(gpu.isGone()).isTrue();
        return new WeakReference<>(gpu);
    }

    @Test
    void destroyedContextsAreForgottenAndOthersAreNot() {
        PreparedGpu primary = gpus.of(contexts.primary(0));
        primary.prepare();
        long own = cuda.createContext(0);
        PreparedGpu alive = gpus.of(own);
        alive.prepare();
        PreparedGpu unused = gpus.of(cuda.createContext(0));
        List<WeakReference<PreparedGpu>> destroyed = new ArrayList<>();
        for (int i = 0; i < CONTEXTS; i++) {
            destroyed.add(prepareAndDestroy());
        }
        assertThat(gpus.of(contexts.primary(0))).isSameAs(primary);
        assertThat(gpus.of(own)).isSameAs(alive);
        assertThat(gpus.of(unused.handle())).isSameAs(unused);
        destroyed.removeLast(); // leaves when the next one comes
        for (int i = 0; i < COLLECTIONS && destroyed.stream().anyMatch(gpu -> gpu.get() != null); i++) {
            System.gc();
        }
        assertThat(destroyed).allMatch(gpu -> gpu.get() == null);
    }

    @Test
    void contextWithTheHandleOfADestroyedOneReplacesIt() {
        long context = cuda.createContext(0);
        PreparedGpu first = gpus.of(context);
        cuda.destroyContext(context);
        cuda.createContext(0, context);
        assertThat(gpus.of(context)).isNotSameAs(first).isSameAs(gpus.of(context));
        gpus.of(context).prepare();
    }

    /** A real driver may crash on the handle of a destroyed context. */
    @Test
    void threadsThatComeLateToHelpCallNothingInADestroyedContext() {
        List<Runnable> late = new ArrayList<>();
        gpus.helpedBy((gpu, work) -> late.add(work));
        prepareAndDestroy();
        assertThat(late).isNotEmpty().allSatisfy(Runnable::run);
    }
}
