package io.gds4j.engine.staging;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.testkit.Failures;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Slabs that a pool hands out, waits for, trims and refuses. */
class BouncePoolTest {
    private static BouncePool pool(long sizeKb, long count) {
        return new BouncePool(FfmPosix.instance(), config(sizeKb, count));
    }

    private static CuFileConfig config(long sizeKb, long count) {
        return CuFileConfig.builder()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(sizeKb))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(count))
                .build();
    }

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void threadsWaitForSlabsInUseWithoutAnError() throws Exception {
        BouncePool pool = pool(4, 1);
        long end =
                System.nanoTime() + TimeUnit.SECONDS.toNanos(Math.min(20, Long.getLong("gds4j.property.seconds", 2)));
        try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
            List<Callable<Long>> work = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                work.add(() -> {
                    long sum = 0;
                    do {
                        Slab slab = pool.acquire(4096, false);
                        sum += slab.size();
                        pool.release(slab);
                    } while (System.nanoTime() < end);
                    return sum;
                });
            }
            for (Future<Long> done : threads.invokeAll(work, 50, TimeUnit.SECONDS)) {
                assertThat(done.get()).isPositive();
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
        assertThat(pool.tryAcquire(1)).isNull();
        pool.release(second);
        assertThat(pool.tryAcquire(1)).isSameAs(second);
        pool.close();
    }

    /** Pins by noting addresses. */
    private static final class NotedPinning implements Pinning {
        private final Set<Long> pinned = ConcurrentHashMap.newKeySet();

        @Override
        public Pinning.Pinned pin(long address, long size) {
            assertThat(pinned.add(address)).isTrue();
            return Pinning.Pinned.PINNED;
        }

        @Override
        public void unpin(long address) {
            assertThat(pinned.remove(address)).isTrue();
        }
    }

    @Test
    void idleBlocksAreUnpinnedOnRequestAndPinnedAgainOnDemand() {
        FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
        NotedPinning pinning = new NotedPinning();
        BouncePool pool = new BouncePool(posix, pinning, config(8192, 2));
        for (int round = 0; round < 3; round++) {
            List<Slab> slabs = List.of(pool.acquire(1, true), pool.acquire(1, true), pool.acquire(1, true));
            assertThat(posix.mappedBytes()).isEqualTo(16 << 20);
            pool.release(slabs.get(0));
            pool.release(slabs.get(1));
            pool.trim();
            assertThat(pinning.pinned).as("one of two blocks is in use").hasSize(1);
            pool.release(slabs.get(2));
            pool.trim();
            assertThat(posix.mappedBytes()).isZero();
            assertThat(pinning.pinned).isEmpty();
            assertThat(pool.bytesInUse()).isZero();
        }
        pool.close();
        assertThat(posix.leaks()).isEmpty();
    }

    @Test
    void slabsOfAGpuStayPinnedWhenIdle() {
        NotedPinning pinning = new NotedPinning();
        BouncePool pool = new BouncePool(FfmPosix.instance(), pinning, config(4096, 4));
        pool.prepare();
        assertThat(pinning.pinned).hasSize(4);
        for (int i = 0; i < 3; i++) {
            pool.trimUnused();
        }
        assertThat(pinning.pinned).hasSize(4);
        pool.close();
    }

    @Test
    void slabsThatHostMemoryUsedArePinnedForGpus() {
        NotedPinning pinning = new NotedPinning();
        BouncePool pool = new BouncePool(FfmPosix.instance(), pinning, config(4096, 4));
        Slab inUse = pool.acquire(1, false);
        assertThat(pinning.pinned).isEmpty();
        pool.prepare();
        assertThat(pinning.pinned).hasSize(4).contains(inUse.address());
        pool.release(inUse);
        pool.close();
    }

    @Test
    void poolOfGpusGrowsAtAllocationsIfSlabsWereLacking() {
        NotedPinning pinning = new NotedPinning();
        BouncePool pool = new BouncePool(FfmPosix.instance(), pinning, config(4096, 40), new StreamWaits(), 1);
        pool.prepare();
        assertThat(pinning.pinned).hasSize(2);
        pool.grow();
        assertThat(pinning.pinned).as("no request lacked a slab").hasSize(2);
        List<Slab> slabs = List.of(pool.acquire(1, true), pool.acquire(1, true));
        assertThat(pool.tryAcquire(1)).isNull();
        assertThat(pinning.pinned).as("no request pins").hasSize(2);
        pool.grow();
        assertThat(pinning.pinned).as("none beside a request").hasSize(2);
        slabs.forEach(pool::release);
        pool.grow();
        assertThat(pinning.pinned).hasSize(3);
        pool.close();
    }

    @Test
    void pinningThatACaptureForbidsIsTriedAgain() {
        List<Pinning.Pinned> answers =
                new ArrayList<>(List.of(Pinning.Pinned.NOT_NOW, Pinning.Pinned.PINNED));
        List<Long> asked = new ArrayList<>();
        BouncePool pool = new BouncePool(FfmPosix.instance(), new Pinning() {
            @Override
            public Pinning.Pinned pin(long address, long size) {
                asked.add(address);
                return answers.removeFirst();
            }

            @Override
            public void unpin(long address) {
                assertThat(asked).contains(address);
            }
        }, config(4096, 1));
        pool.prepare();
        pool.prepare();
        assertThat(asked).hasSize(2).doesNotContain(0L);
        assertThat(pool.acquire(1, true).block().isPinned()).isTrue();
    }

    @Test
    void threadsGetSlabsInTheOrderOfComing() throws Exception {
        BouncePool pool = pool(4, 1);
        Slab slab = pool.acquire(1, false);
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        List<Thread> waiting = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            int number = i;
            waiting.add(Thread.ofPlatform().start(() -> {
                Slab taken = pool.acquire(1, false);
                order.add(number);
                pool.release(taken);
            }));
            while (waiting.getLast().getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
        }
        assertThat(pool.tryAcquire(1)).as("others came first").isNull();
        pool.release(slab);
        for (Thread thread : waiting) {
            thread.join();
        }
        assertThat(order).containsExactly(0, 1, 2, 3, 4);
        pool.close();
    }

    @Test
    void requestThatIsOverLeavesTheLine() throws Exception {
        BouncePool pool = pool(4, 1);
        Slab slab = pool.acquire(1, false);
        AtomicBoolean over = new AtomicBoolean();
        AtomicBoolean left = new AtomicBoolean();
        Thread waiting = Thread.ofPlatform().start(() -> left.set(pool.acquire(1, false, request(over)) == null));
        Thread behind = Thread.ofPlatform().start(() -> pool.release(pool.acquire(1, false)));
        over.set(true);
        waiting.join();
        assertThat(left).isTrue();
        pool.release(slab);
        behind.join();
        pool.close();
    }

    private static PieceFailures request(AtomicBoolean over) {
        return new PieceFailures() {
            @Override
            public void failed(long piece, RuntimeException cause) {
                throw cause;
            }

            @Override
            public boolean isOver() {
                return over.get();
            }
        };
    }

    @Test
    void blockInOccasionalUseStays() {
        FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
        BouncePool pool = new BouncePool(posix, config(4096, 4));
        for (int round = 0; round < 5; round++) {
            pool.release(pool.acquire(1, false));
            pool.trimUnused();
        }
        assertThat(posix.calls(PosixCall.MMAP)).isEqualTo(1);
        pool.trimUnused();
        assertThat(posix.mappedBytes()).as("idle for a while").isZero();
        pool.close();
    }

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void trimmingUnderManyTakersKeepsEverySlabOnce() throws Exception {
        BouncePool pool = pool(1024, 8);
        AtomicBoolean over = new AtomicBoolean();
        Set<Long> out = ConcurrentHashMap.newKeySet();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
        try (ExecutorService threads = Executors.newFixedThreadPool(7)) {
            List<Future<Long>> takers = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                takers.add(threads.submit(() -> {
                    for (int round = 0; round < 20_000 && System.nanoTime() < end; round++) {
                        Slab slab = pool.acquire(1, false);
                        assertThat(out.add(slab.address())).isTrue();
                        assertThat(out.remove(slab.address())).isTrue();
                        pool.release(slab);
                    }
                    return 0L;
                }));
            }
            Future<?> trimmer = threads.submit(() -> {
                while (!over.get()) {
                    pool.trim();
                }
            });
            for (Future<Long> taker : takers) {
                taker.get(50, TimeUnit.SECONDS);
            }
            over.set(true);
            trimmer.get(50, TimeUnit.SECONDS);
        }
        assertThat(pool.bytesInUse()).isZero();
        pool.close();
    }

    @Test
    void poolWithoutSlabsRefusesAtOnce() {
        FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
        BouncePool pool = new BouncePool(posix, config(4, 1));
        posix.on(PosixCall.MMAP).fails(Errno.ENOMEM);
        Failures.expect(CuFileError.NOMEM_ERROR, Errno.ENOMEM, () -> pool.acquire(1, false));
        pool.abandon(pool.acquire(1, false));
        Failures.expect(CuFileError.NOMEM_ERROR, Errno.ENOMEM, () -> pool.acquire(1, false));
        pool.close();
        assertThat(posix.leaks()).isEmpty();
    }

    @Test
    void requestsLargerThanEverySlabAreCutToTheLargest() {
        assertThat(pool(4, 3).pieceSize()).isEqualTo(4096);
        assertThat(pool(16384, 1).pieceSize()).isEqualTo(BouncePool.PIECE_SIZE);
    }
}
