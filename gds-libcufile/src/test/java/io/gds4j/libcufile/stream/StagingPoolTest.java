package io.gds4j.libcufile.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.libcufile.process.CurrentContext;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The slabs of a session. */
@Timeout(value = 12, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StagingPoolTest {
    private static final int SLABS = 8;
    private static final long HALF = StagingSlab.BYTES / 2;

    private final FakeCuda cuda = new FakeCuda(2, 64 << 20);
    private final CudaContexts contexts = cuda.available().cudaContexts().orElseThrow();
    private final StagingPool pool = new StagingPool(contexts);

    @AfterEach
    @Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void nothingIsLeft() {
        pool.close();
        pool.close();
        assertThat(cuda.violations()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }

    private List<StagingSlab> acquireAll() {
        List<StagingSlab> slabs = new ArrayList<>();
        for (int i = 0; i < SLABS; i++) {
            slabs.add(pool.acquire());
        }
        return slabs;
    }

    @Test
    void halvesOfAllSlabsFillTheMemory() {
        pool.prepare(CurrentContext.NONE);
        List<StagingSlab> slabs = acquireAll();
        List<Long> halves = new ArrayList<>();
        for (StagingSlab slab : slabs) {
            assertThat(slab.half(1).address()).isEqualTo(slab.half(0).address() + HALF);
            halves.add(slab.half(0).address());
            halves.add(slab.half(1).address());
            assertThat(slab.half(0).length()).isEqualTo(HALF);
        }
        halves.sort(null);
        for (int i = 1; i < halves.size(); i++) {
            assertThat(halves.get(i)).isEqualTo(halves.getFirst() + i * HALF);
        }
        assertThat(halves).hasSize(2 * SLABS);
        slabs.forEach(pool::release);
    }

    @Test
    void anotherSlabIsWaitedFor() throws Exception {
        pool.prepare(CurrentContext.NONE);
        List<StagingSlab> slabs = acquireAll();
        FutureTask<StagingSlab> task = new FutureTask<>(pool::acquire);
        Thread waiting = Thread.ofPlatform().start(task);
        while (waiting.getState() != Thread.State.WAITING) {
            assertThat(task.isDone()).isFalse();
            Thread.onSpinWait();
        }
        pool.release(slabs.get(3));
        assertThat(task.get()).isSameAs(slabs.get(3));
        slabs.forEach(pool::release);
    }

    @Test
    void eachContextIsPreparedOnce() {
        pool.prepare(CurrentContext.NONE);
        pool.prepare(CurrentContext.NONE);
        assertThat(cuda.calls(CudaFunction.MEM_HOST_ALLOC)).isOne();
        long before = cuda.calls(CudaFunction.STREAM_CREATE);
        StagingSlab slab = pool.acquire();
        for (int gpu = 0; gpu < 2; gpu++) {
            long context = contexts.primary(gpu);
            assertThatThrownBy(() -> slab.lane(context)).isInstanceOf(IllegalStateException.class);
            pool.prepare(context);
            pool.prepare(context);
            assertThat(slab.lane(context).isOfItsContext()).isTrue();
            assertThat(cuda.calls(CudaFunction.STREAM_CREATE) - before).isEqualTo((gpu + 1L) * SLABS);
        }
        pool.release(slab);
        assertThat(cuda.calls(CudaFunction.MEM_HOST_ALLOC)).isOne();
    }

    @Test
    void aPoolThatIsNotPreparedOrClosedHasNoSlab() {
        assertThatThrownBy(pool::acquire).isInstanceOf(IllegalStateException.class);
        pool.prepare(contexts.primary(0));
        pool.close();
        assertThatThrownBy(pool::acquire).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> pool.prepare(CurrentContext.NONE)).isInstanceOf(CuFileException.class);
    }
}
