package io.gds4j.compat.batch;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileHandle;
import io.gds4j.compat.FakePageCache;
import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.Rig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A thread that waits for a batch with a time limit helps, but never so that it misses its time. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BatchTimeoutTest {
    private static final int STRETCH = 4 << 20;
    private static final int STEP = STRETCH + Rig.PAGE;

    private static final int ENTRY = 64 << 10;

    /** More stretches than there are threads for them. */
    private static final int COUNT = 8;

    @Test
    void coldMiddleDoesNotKeepTheWaitingThread() {
        FakePageCache cache = FakePageCache.ofFirst(COUNT * STEP);
        cache.drop(STEP, (COUNT - 2) * STEP - Rig.PAGE);
        CountDownLatch diskAnswers = new CountDownLatch(1);
        try (Rig rig = rigForStretches(cache)) {
            GuardedFile file = rig.file(COUNT * STEP);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, COUNT * STEP);
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(COUNT)) {
                for (int i = 1; i < COUNT - 1; i++) {
                    rig.posix().on(PosixCall.PREAD).covering((long) i * STEP + STRETCH / 2).always()
                            .runsFirst(() -> await(diskAnswers));
                }
                batch.submit(stretches(handle, file, memory));
                List<Completion> done = new ArrayList<>(batch.await(COUNT, Duration.ofMillis(550)));
                assertThat(done).hasSizeLessThan(COUNT);
                diskAnswers.countDown();
                done.addAll(batch.await(COUNT - done.size(), Duration.ofSeconds(50)));
                assertThat(done).hasSize(COUNT).allMatch(Completion::isComplete);
            } finally {
                diskAnswers.countDown();
            }
            memory.verify();
        }
    }

    /** Cached bytes may come slowly, and of some files the kernel does not tell what is cached. */
    @Test
    void waitingThreadTakesNoStretchOnceItsTimeIsOver() {
        FakePageCache cache = FakePageCache.ofFirst(COUNT * STEP);
        CountDownLatch othersGoOn = new CountDownLatch(1);
        Set<Integer> served = ConcurrentHashMap.newKeySet();
        Duration limit = Duration.ofMillis(500);
        try (Rig rig = rigForStretches(cache)) {
            GuardedFile file = rig.file(COUNT * STEP);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, COUNT * STEP);
            Thread waiter = Thread.currentThread();
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(COUNT)) {
                for (int i = 0; i < COUNT; i++) {
                    int stretch = i;
                    rig.posix().on(PosixCall.PREAD).covering((long) i * STEP + STRETCH / 2).always().runsFirst(() -> {
                        if (Thread.currentThread() == waiter) {
                            served.add(stretch);
                            LockSupport.parkNanos(limit.toNanos());
                        } else {
                            await(othersGoOn);
                        }
                    });
                }
                batch.submit(stretches(handle, file, memory));
                List<Completion> done = new ArrayList<>(batch.await(COUNT, limit));
                int inTime = served.size();
                othersGoOn.countDown();
                assertThat(inTime).isLessThanOrEqualTo(1);
                done.addAll(batch.await(COUNT - done.size(), Duration.ofSeconds(50)));
                assertThat(done).hasSize(COUNT).allMatch(Completion::isComplete);
            } finally {
                othersGoOn.countDown();
            }
            memory.verify();
        }
    }

    /** The kernel may answer late, of a file on a network for example. */
    @Test
    void submitThatAsksTheKernelKeepsNoThreadThatWaits() throws Exception {
        FakePageCache cache = FakePageCache.ofFirst(STRETCH);
        AtomicBoolean late = new AtomicBoolean();
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch answers = new CountDownLatch(1);
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> {
            if (call.getName().equals("cachedPages") && late.get()) {
                asked.countDown();
                await(answers);
            }
            return cache.answer(call, arguments, kernel);
        });
        try (Rig rig = Rig.onGpuOver(posix, builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false))) {
            GuardedFile file = rig.file(STRETCH);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, STRETCH);
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(1)) {
                late.set(true);
                FutureTask<Void> submit = new FutureTask<>(
                        () -> batch.submit(List.of(Request.read(handle, memory.range(), ENTRY, 0, 0))), null);
                Thread.ofPlatform().start(submit);
                await(asked);
                FutureTask<List<Completion>> poll = new FutureTask<>(() -> batch.await(1, Duration.ofMillis(1)));
                Thread.ofPlatform().start(poll);
                try {
                    assertThat(poll.get(20, TimeUnit.SECONDS)).isEmpty();
                } finally {
                    late.set(false);
                    answers.countDown();
                    submit.get();
                }
                assertThat(batch.await(1, Duration.ofSeconds(50))).hasSize(1).allMatch(Completion::isComplete);
            }
            memory.expect(0, file.expected(0, ENTRY));
            memory.verify();
        }
    }

    /** Asking for each of its entries takes longer than reading them. */
    @Test
    void waitingThreadAsksOnceForAStretch() {
        int entries = 128;
        int size = entries * ENTRY;
        FakePageCache cache = FakePageCache.ofFirst(size);
        try (Rig rig = Rig.onGpuOver(cache.posix(), builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false)
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, 4096L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(8L, 16L)))) {
            GuardedFile file = rig.file(size);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, size);
            List<Request> requests = new ArrayList<>();
            for (int i = 0; i < entries; i++) {
                // In memory from the last one to the first.
                memory.expect(size - (i + 1) * ENTRY, file.expected(i * ENTRY, ENTRY));
            }
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(entries)) {
                for (int i = 0; i < entries; i++) {
                    requests.add(Request.read(
                            handle, memory.range(), ENTRY, (long) i * ENTRY, (long) size - (i + 1) * ENTRY));
                }
                int before = cache.questions();
                batch.submit(requests);
                List<Completion> done = batch.await(entries, Duration.ofSeconds(50));
                assertThat(done).hasSize(entries).allMatch(Completion::isComplete);
                assertThat(cache.questions() - before).isLessThan(entries / 4);
            }
            memory.verify();
        }
    }

    private static Rig rigForStretches(FakePageCache cache) {
        return Rig.onGpuOver(cache.posix(), builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false)
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, 4096L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(8L, 16L))
                .set(CuFileKeys.MAX_DIRECT_IO_SIZE_KB, 4096L));
    }

    /** Returns a request for each stretch; memory expects their bytes. */
    private static List<Request> stretches(CuFileHandle handle, GuardedFile file, GuardedMemory memory) {
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < COUNT; i++) {
            requests.add(Request.read(handle, memory.range(), STRETCH, (long) i * STEP, (long) i * STEP));
            memory.expect(i * STEP, file.expected(i * STEP, STRETCH));
        }
        return requests;
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
