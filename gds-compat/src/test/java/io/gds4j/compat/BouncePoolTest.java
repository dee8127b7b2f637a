package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.ffi.posix.FfmPosix;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class BouncePoolTest {
    private static BouncePool pool(long sizeKb, long count) {
        CuFileConfig config = CuFileConfig.builder()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(sizeKb))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(count))
                .build();
        return new BouncePool(FfmPosix.instance(), BouncePool.Pinning.NONE, config);
    }

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void threadsThatFindAllSlabsOutWaitAndNeverHearOfMissingMemory() throws Exception {
        BouncePool pool = pool(4, 1);
        try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
            List<Callable<Long>> work = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                work.add(() -> {
                    long sum = 0;
                    for (int round = 0; round < 60_000; round++) {
                        Slab slab = pool.acquire(4096, false);
                        sum += slab.size();
                        pool.release(slab);
                    }
                    return sum;
                });
            }
            for (Future<Long> done : threads.invokeAll(work, 50, TimeUnit.SECONDS)) {
                assertThat(done.get()).isEqualTo(60_000 * 4096L);
            }
        }
        assertThat(pool.peakBytes()).isEqualTo(4096);
        pool.close();
    }

    @Test
    void slabsAreHandedOutOnceAndAgainAfterTheyCameBack() {
        BouncePool pool = pool(4, 3);
        Slab first = pool.acquire(1, false);
        Slab second = pool.acquire(4096, false);
        Slab third = pool.acquire(17, false);
        assertThat(List.of(first.address(), second.address(), third.address())).doesNotHaveDuplicates();
        assertThat(pool.tryAcquire(1, false)).isNull();
        pool.release(second);
        assertThat(pool.tryAcquire(1, false)).isSameAs(second);
        pool.close();
    }

    @Test
    void requestsLargerThanEverySlabAreCutToTheLargest() {
        assertThat(pool(4, 3).pieceSize()).isEqualTo(4096);
        assertThat(pool(16384, 1).pieceSize()).isEqualTo(BouncePool.PIECE_SIZE);
    }
}
