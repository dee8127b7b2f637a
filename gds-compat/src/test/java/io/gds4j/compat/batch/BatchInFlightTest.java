package io.gds4j.compat.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileHandle;
import io.gds4j.compat.FakePageCache;
import io.gds4j.compat.Rig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BatchStatus;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.lang.Thread.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Answers of a batch while the kernel holds up some of its entries. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BatchInFlightTest {
    /** Entries that are claimed one at a time. */
    private static final int LARGE = 128 << 10;

    private static final Duration LONG = Duration.ofSeconds(50);
    private static final Duration SHORT = Duration.ofMillis(20);

    private final CountDownLatch goOn = new CountDownLatch(1);

    private void hold() {
        try {
            goOn.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static List<Request> reads(CuFileHandle handle, GuardedMemory memory, int count) {
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(Request.read(handle, memory.range(), LARGE, (long) i * LARGE, (long) i * LARGE));
        }
        return requests;
    }

    @Test
    void statusGivesWhatIsThereInTimeAndTheRestKeepsItsPlace() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(4 * LARGE);
            GuardedMemory memory = rig.host(4 * LARGE);
            rig.posix().on(PosixCall.PREAD).covering(2L * LARGE).always().runsFirst(this::hold);
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(4)) {
                batch.submit(reads(handle, memory, 4));
                assertThat(batch.await(3, LONG)).hasSize(3);
                assertThat(batch.await(1, SHORT)).as("in time").isEmpty();
                assertThat(batch.outstanding()).isEqualTo(1);
                batch.submit(reads(handle, memory, 1));
                assertThat(batch.await(2, SHORT)).as("fewer than wanted, in time").hasSizeLessThanOrEqualTo(1);
                goOn.countDown();
                List<Completion> rest = new ArrayList<>();
                while (batch.outstanding() > 0) {
                    rest.addAll(batch.await(1, LONG));
                }
                assertThat(rest).isNotEmpty().allMatch(Completion::isComplete);
            }
            memory.expect(0, file.expected(0, 4 * LARGE));
            memory.verify();
        }
    }

    /** Entries that it served itself would end with its interrupt, and wait for the calls of other virtual threads. */
    @Test
    void interruptOfAWaitingVirtualThreadEndsNoEntry() throws Exception {
        int stretch = 4 << 20;
        int count = 6;
        int step = stretch + Rig.PAGE;
        FakePageCache cache = FakePageCache.ofFirst(count * step);
        Set<String> serving = ConcurrentHashMap.newKeySet();
        try (Rig rig = Rig.onGpuOver(cache.posix(), builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false))) {
            GuardedFile file = rig.file(count * step);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, count * step);
            List<Request> requests = new ArrayList<>();
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(count)) {
                for (int i = 0; i < count; i++) {
                    requests.add(Request.read(handle, memory.range(), stretch, (long) i * step, (long) i * step));
                    memory.expect(i * step, file.expected(i * step, stretch));
                }
                rig.posix().on(PosixCall.PREAD).always().runsFirst(() -> {
                    serving.add(Thread.currentThread().getName());
                    hold();
                });
                batch.submit(requests);
                FutureTask<List<Completion>> wait = new FutureTask<>(() -> batch.await(count, LONG));
                Thread waiter = Thread.ofVirtual().start(wait);
                while (waiter.getState() != State.WAITING && waiter.getState() != State.TIMED_WAITING) {
                    Thread.onSpinWait();
                }
                waiter.interrupt();
                while (waiter.isInterrupted() && waiter.isAlive()) {
                    Thread.onSpinWait(); // until it knows
                }
                goOn.countDown();
                assertThatThrownBy(wait::get).cause().isInstanceOf(CuFileInterruptedException.class);
                assertThat(batch.await(count, LONG)).hasSize(count).allMatch(Completion::isComplete);
                assertThat(serving).noneMatch(name -> name.startsWith("gds4j-call"));
            } finally {
                goOn.countDown();
            }
            memory.verify();
        }
    }

    @Test
    void cancelReportsWhatHasNotBegunAtOnceAndTheRestWhenItIsOver() {
        int count = 40;
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(count * LARGE);
            GuardedMemory memory = rig.host(count * LARGE);
            AtomicInteger begun = new AtomicInteger();
            rig.posix().on(PosixCall.PREAD).always().runsFirst(() -> {
                begun.incrementAndGet();
                hold();
            });
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(count)) {
                batch.submit(reads(handle, memory, count));
                batch.cancel();
                List<Completion> canceled = batch.await(count - 16, LONG);
                assertThat(canceled).hasSizeGreaterThanOrEqualTo(count - 16);
                assertThat(canceled).extracting(Completion::status).containsOnly(BatchStatus.CANCELED);
                goOn.countDown();
                int left = count - canceled.size();
                List<Completion> rest = batch.await(left, LONG);
                // A thread that has taken an entry, and has not begun it, cancels it itself.
                assertThat(rest).hasSize(left).allMatch(completion -> completion.isComplete()
                        || completion.status() == BatchStatus.CANCELED);
                assertThat(rest).filteredOn(Completion::isComplete).hasSizeLessThanOrEqualTo(begun.get());
            }
        }
    }

    @Test
    void entryThatFindsNoMemoryFailsAlone() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(4 * LARGE);
            GuardedMemory memory = rig.host(4 * LARGE);
            rig.posix().on(PosixCall.PREAD).covering(2L * LARGE).always().runsFirst(() -> {
                throw new OutOfMemoryError("Java heap space");
            });
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(4)) {
                batch.submit(reads(handle, memory, 4));
                List<Completion> completions = batch.await(4, LONG);
                assertThat(completions).hasSize(4);
                assertThat(completions)
                        .filteredOn(completion -> !completion.isComplete())
                        .extracting(Completion::status, Completion::result)
                        .containsExactly(tuple(BatchStatus.FAILED, (long) -Errno.ENOMEM));
            }
        }
    }

    @Test
    void interruptEndsTheWaitAndLosesNothing() throws InterruptedException {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(2 * LARGE);
            GuardedMemory memory = rig.host(2 * LARGE);
            rig.posix().on(PosixCall.PREAD).always().runsFirst(this::hold);
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(2)) {
                batch.submit(reads(handle, memory, 2));
                Thread.currentThread().interrupt();
                assertThatThrownBy(() -> batch.await(2, LONG)).isInstanceOf(CuFileInterruptedException.class);
                assertThat(Thread.interrupted()).as("still interrupted").isTrue();
                goOn.countDown();
                assertThat(batch.await(2, LONG)).hasSize(2).allMatch(Completion::isComplete);
            }
        }
    }
}
