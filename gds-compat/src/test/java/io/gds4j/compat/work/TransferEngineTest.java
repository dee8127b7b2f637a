package io.gds4j.compat.work;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.plan.Parallelism;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.internal.lifetime.CallThreads;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Tests that what requests borrow is given back. */
class TransferEngineTest {
    /** A request that failed before it began kept its place among the calls of virtual threads, of which later ones waited for ever. */
    @Test
    void requestWithoutAContextKeepsNoPlace() throws InterruptedException {
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, 0L).build();
        Posix posix = FfmPosix.instance();
        PathCounters counters = new PathCounters();
        BouncePool pool = new BouncePool(posix, config);
        AtomicInteger failing = new AtomicInteger(CallThreads.MAX_THREADS);
        TransferEngine engine = new TransferEngine(Parallelism.of(config, 4), heeds -> {
            if (failing.getAndDecrement() > 0) {
                throw new OutOfMemoryError("of the test");
            }
            return new ThreadContext(heeds, posix, counters, pool, null);
        }, gpu -> {
            // no worker
        }, true);
        MemoryRange memory = MemoryRange.ofAddress(1 << 20, 1 << 20, MemoryKind.CUDA_DEVICE, 0);
        AtomicInteger failed = new AtomicInteger();
        AtomicInteger lent = new AtomicInteger();
        Thread caller = Thread.ofVirtual().start(() -> {
            for (int i = 0; i <= CallThreads.MAX_THREADS; i++) {
                try {
                    engine.giveBack(engine.borrow(memory, "cuFileRead"), memory);
                    lent.incrementAndGet();
                } catch (OutOfMemoryError e) {
                    failed.incrementAndGet();
                }
            }
        });
        caller.join(60_000);
        caller.interrupt(); // ends a wait for a place
        caller.join();
        engine.close();
        assertThat(failed).hasValue(CallThreads.MAX_THREADS);
        assertThat(lent).hasValue(1);
    }
}
