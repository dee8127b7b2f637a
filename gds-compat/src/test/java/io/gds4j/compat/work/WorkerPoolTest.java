package io.gds4j.compat.work;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.deliver.HostTransfer;
import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.TestFile;
import io.gds4j.compat.plan.Parallelism;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.Operation;
import io.gds4j.testkit.Failures;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Transfers that a pool of workers serves; the tests control when each read ends. */
class WorkerPoolTest {
    private static final long PIECE = 4096;
    private static final int SECONDS = 60;

    private WorkerPool pool;

    /** A step that must not fail on a thread of the pool. */
    private interface Step {
        void take() throws Exception;
    }

    /** The I/O of a thread: {@code read} gets the offset of each piece and returns its result. */
    private static ThreadContext thread(LongUnaryOperator read) {
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> call.getName().equals("pread")
                ? (Object) read.applyAsLong((Long) arguments[3])
                : kernel.call());
        BouncePool slabs = new BouncePool(posix, CuFileConfig.defaults());
        return new ThreadContext(false, posix, new PathCounters(), slabs, null);
    }

    private static HostTransfer transfer(long pieces) {
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> kernel.call());
        CompatFile file = TestFile.buffered(posix);
        MemoryRange memory = MemoryRange.ofAddress(1 << 20, pieces * PIECE, MemoryKind.HOST);
        HostTransfer transfer = new HostTransfer(
                new TransferRequest().set(file, memory, Operation.READ, pieces * PIECE, 0, 0), null);
        transfer.plan().buffered(0, pieces * PIECE, PIECE);
        transfer.begin();
        return transfer;
    }

    private static Parallelism workers(int workers) {
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment()
                .set(CuFileKeys.MAX_IO_THREADS, (long) workers)
                .set(CuFileKeys.MAX_REQUEST_PARALLELISM, workers + 1L)
                .build();
        return Parallelism.of(config, workers + 1);
    }

    private void start(int workers, LongUnaryOperator read) {
        pool = new WorkerPool(workers(workers), () -> thread(read), gpu -> {
        });
    }

    @AfterEach
    void close() {
        if (pool != null) {
            pool.close();
        }
    }

    /** Moves a transfer as its caller does; returns the result. */
    private long run(HostTransfer transfer, int threads, LongUnaryOperator read) {
        WorkerPool.Offer offer = new WorkerPool.Offer();
        pool.offer(offer, transfer, threads);
        try {
            transfer.run(thread(read));
        } finally {
            pool.withdraw(offer);
        }
        return transfer.result("cuFileRead", Optional.empty());
    }

    private static long after(Step step) {
        try {
            step.take();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return PIECE;
    }

    @Test
    void workersMovePiecesBesideTheCaller() {
        CyclicBarrier together = new CyclicBarrier(4);
        LongUnaryOperator read = offset -> after(() -> together.await(SECONDS, TimeUnit.SECONDS));
        start(3, read);
        for (int round = 0; round < 10; round++) {
            assertThat(run(transfer(4), 4, read)).isEqualTo(4 * PIECE);
        }
    }

    @Test
    void transferKeepsItsLimitOfThreads() {
        AtomicInteger now = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        LongUnaryOperator read = offset -> {
            most.accumulateAndGet(now.incrementAndGet(), Math::max);
            Thread.yield();
            now.decrementAndGet();
            return PIECE;
        };
        start(3, read);
        assertThat(run(transfer(1000), 2, read)).isEqualTo(1000 * PIECE);
        assertThat(most.get()).isLessThanOrEqualTo(2);
    }

    @Test
    void withdrawWaitsForWorkersAtWork() throws Exception {
        CountDownLatch atWork = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        start(1, offset -> after(() -> {
            atWork.countDown();
            released.await(SECONDS, TimeUnit.SECONDS);
        }));
        FutureTask<Long> caller = new FutureTask<>(() -> run(
                transfer(2), 2, offset -> after(() -> atWork.await(SECONDS, TimeUnit.SECONDS))));
        Thread thread = Thread.ofPlatform().start(caller);
        atWork.await(SECONDS, TimeUnit.SECONDS);
        while (!(LockSupport.getBlocker(thread) instanceof WorkerPool.Offer)) {
            assertThat(caller.isDone()).isFalse();
            Thread.onSpinWait();
        }
        assertThat(released.getCount()).isOne();
        released.countDown();
        assertThat(caller.get(SECONDS, TimeUnit.SECONDS)).isEqualTo(2 * PIECE);
    }

    @Test
    void transferWithoutWorkersTakesOneFromAnother() throws Exception {
        long large = 1000;
        CountDownLatch busy = new CountDownLatch(2);
        CountDownLatch offered = new CountDownLatch(1);
        CountDownLatch over = new CountDownLatch(1);
        CyclicBarrier both = new CyclicBarrier(2);
        // The offset tells pieces of the second transfer, where its workers and its caller meet.
        HostTransfer second = transfer(2);
        second.plan().buffered(large * PIECE, 2 * PIECE, PIECE);
        second.begin();
        LongUnaryOperator small = offset -> after(() -> {
            offered.countDown();
            both.await(SECONDS, TimeUnit.SECONDS);
        });
        start(2, offset -> offset >= large * PIECE ? small.applyAsLong(offset) : after(() -> {
            busy.countDown();
            offered.await(SECONDS, TimeUnit.SECONDS);
        }));
        FutureTask<Long> first = new FutureTask<>(() -> run(
                transfer(large), 3, offset -> after(() -> over.await(SECONDS, TimeUnit.SECONDS))));
        Thread.ofPlatform().start(first);
        busy.await(SECONDS, TimeUnit.SECONDS);
        assertThat(run(second, 2, small)).isEqualTo(2 * PIECE);
        over.countDown();
        assertThat(first.get(SECONDS, TimeUnit.SECONDS)).isEqualTo(large * PIECE);
    }

    @Test
    void failuresOfWorkersAreThoseOfTheTransfer() {
        CountDownLatch failed = new CountDownLatch(1);
        start(1, offset -> {
            failed.countDown();
            return -Errno.EIO;
        });
        CuFileException failure = Failures.expect(
                () -> run(transfer(100), 2, offset -> after(() -> failed.await(SECONDS, TimeUnit.SECONDS))));
        assertThat(failure.errno()).hasValue(Errno.EIO);
    }

    @Test
    void afterCancelAllTheCallerIsAlone() {
        start(2, offset -> {
            throw new IllegalStateException("a worker came");
        });
        pool.cancelAll();
        assertThat(run(transfer(10), 3, offset -> PIECE)).isEqualTo(10 * PIECE);
    }

    @Test
    void failedStartEndsTheWorkersThatHaveStarted() {
        List<Thread> started = new ArrayList<>();
        ThreadFactory twoThreads = task -> new Thread(task) {
            @Override
            public void start() {
                if (started.size() == 2) {
                    throw new OutOfMemoryError("unable to create native thread");
                }
                started.add(this);
                super.start();
            }
        };
        assertThatThrownBy(() -> new WorkerPool(workers(3), () -> thread(offset -> PIECE), gpu -> {
        }, twoThreads)).isInstanceOf(OutOfMemoryError.class);
        assertThat(started).hasSize(2).noneMatch(Thread::isAlive);
    }
}
