package io.gds4j.engine.staging;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.internal.lifetime.Uninterruptibly;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
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

    @Test
    void helpersDoNotWaitForTheOneThatLoadsTheKernel() {
        CountDownLatch loading = new CountDownLatch(1);
        CountDownLatch mayLoad = new CountDownLatch(1);
        AtomicInteger kernelStreams = new AtomicInteger();
        Cuda slow = (Cuda) Proxy.newProxyInstance(
                Cuda.class.getClassLoader(), new Class<?>[]{Cuda.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("moduleLoad")) {
                        loading.countDown();
                        mayLoad.await();
                    } else if (method.getName().equals("streamCreateWithPriority")) {
                        kernelStreams.incrementAndGet();
                    }
                    return method.invoke(cuda, arguments);
                });
        BouncePool three = new BouncePool(FfmPosix.instance(), CuFileConfig.defaults().toBuilder()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(64L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(3L)).build());
        PreparedGpus expecting = new PreparedGpus(new CudaContexts(slow), three);
        List<Runnable> helpers = new ArrayList<>();
        expecting.helpedBy((gpu, work) -> helpers.add(work));
        expecting.expect(0);
        Runnable help = helpers.getFirst();

        Thread loads = Thread.ofPlatform().daemon().start(help);
        Uninterruptibly.await(loading::await);
        help.run();
        assertThat(expecting.isPreparing()).isTrue();
        mayLoad.countDown();
        Uninterruptibly.join(loads);
        assertThat(expecting.isPreparing()).isFalse();
        assertThat(kernelStreams).as("a lane for each slab, and one more").hasValue(4);
        expecting.close();
        three.close();
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
