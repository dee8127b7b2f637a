package io.gds4j.compat.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.plan.Parallelism;
import io.gds4j.compat.work.TransferEngine;
import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.Operation;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that a submission ends although threads cannot start, or fail, or run out of memory. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RequestRunnersTest {
    private static final int LARGE = 1 << 20;
    private static final int ENTRIES = 8;
    private static final BackendFile FILE = (BackendFile) Proxy.newProxyInstance(
            BackendFile.class.getClassLoader(), new Class<?>[]{BackendFile.class}, (proxy, method, arguments) -> null);

    private static final Runnable NO_FAILURE = () -> {
    };

    private final Set<Long> ran = ConcurrentHashMap.newKeySet();
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
    private final CompatBatch batch = new CompatBatch(100);
    private BouncePool pool;
    private TransferEngine engine;
    private RequestRunners runners;
    private volatile int startable;
    private volatile Runnable failure = NO_FAILURE;
    private volatile Runnable failureAtStart = NO_FAILURE;

    /** A thread that starts only while the system has threads left. */
    private final class LimitedThread extends Thread {
        LimitedThread(Runnable task) {
            super(task);
            setDaemon(true);
        }

        @Override
        public void start() {
            if (startable == 0) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            startable--;
            threads.add(this);
            super.start();
        }
    }

    @BeforeEach
    void makeEngine() {
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().build();
        Posix posix = FfmPosix.instance();
        PathCounters counters = new PathCounters();
        pool = new BouncePool(posix, config);
        engine = new TransferEngine(
                Parallelism.of(config, 1),
                heeds -> new ThreadContext(heeds, posix, counters, pool, null),
                gpu -> {
                },
                false);
        runners = new RequestRunners(engine, context -> {
            failureAtStart.run();
            return new TestRunner();
        }, 16, 4, LimitedThread::new);
    }

    @AfterEach
    void close() {
        runners.close();
        engine.close();
        pool.close();
        assertThat(threads).noneMatch(Thread::isAlive);
    }

    private Submission submission(long firstCookie) {
        List<BatchRequest> entries = LongStream.range(firstCookie, firstCookie + ENTRIES)
                .mapToObj(cookie -> new BatchRequest(
                        FILE, Operation.READ, MemoryRange.ofAddress(4096, LARGE, MemoryKind.HOST), LARGE, 0, 0, cookie))
                .toList();
        return batch.enter(ENTRIES, into -> new Submission(into, entries, false));
    }

    /** Completes entries without any I/O; throws {@link #failure} once it is set. */
    private final class TestRunner implements EntryRunner {
        @Override
        public void run(Claim claim) {
            failure.run();
            List<BatchEvent> events = new ArrayList<>();
            for (BatchRequest entry : claim.entries()) {
                ran.add(entry.cookie());
                events.add(new BatchEvent(entry.cookie(), BatchStatus.COMPLETE, entry.size()));
            }
            claim.end(events);
        }

        @Override
        public void settle() {
            // ends each claim at once
        }

        @Override
        public void close() {
            // owns nothing
        }
    }

    @Test
    void submissionWithoutAnyThreadIsRefusedWhole() {
        startable = 0;
        Submission refused = submission(0);
        assertThatThrownBy(() -> runners.run(refused))
                .isInstanceOfSatisfying(CuFileException.class, failure -> {
                    assertThat(failure.error()).isEqualTo(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR);
                    assertThat(failure.errno()).hasValue(Errno.EAGAIN);
                });
        batch.withdraw(refused);
        assertThat(batch.atWork()).isZero();

        startable = 100;
        runners.run(submission(100));
        assertThat(batch.take(ENTRIES, ENTRIES, Optional.empty())).hasSize(ENTRIES);
        assertThat(ran).as("entries of the second submission").hasSize(ENTRIES).allMatch(cookie -> cookie >= 100);
    }

    @Test
    void submissionIsServedByTheThreadsThatCouldBeStarted() {
        startable = 1;
        runners.run(submission(0));
        assertThat(batch.take(ENTRIES, ENTRIES, Optional.empty())).hasSize(ENTRIES);
        runners.run(submission(100));
        assertThat(batch.take(ENTRIES, ENTRIES, Optional.empty())).hasSize(ENTRIES);
        assertThat(threads).hasSize(1);
        startable = 100;
        runners.run(submission(200));
        assertThat(batch.take(ENTRIES, ENTRIES, Optional.empty())).hasSize(ENTRIES);
        assertThat(threads).as("more threads once there are some").hasSizeGreaterThan(1);
    }

    @Test
    void threadThatDiesIsReplaced() throws InterruptedException {
        startable = 1;
        CountDownLatch died = new CountDownLatch(1);
        List<BatchRequest> entry = List.of(new BatchRequest(
                FILE, Operation.READ, MemoryRange.ofAddress(4096, LARGE, MemoryKind.HOST), LARGE, 0, 0, 1));
        failure = () -> {
            Thread.currentThread().setUncaughtExceptionHandler((thread, thrown) -> died.countDown());
            throw new LinkageError("a defect");
        };
        runners.run(batch.enter(1, into -> new Submission(into, entry, false)));
        assertThat(batch.take(1, 1, Optional.empty())).extracting(BatchEvent::status).containsExactly(
                BatchStatus.FAILED);
        died.await();
        failure = NO_FAILURE;
        startable = 1;
        runners.run(submission(100));
        assertThat(batch.take(ENTRIES, ENTRIES, Optional.empty())).hasSize(ENTRIES);
    }

    @Test
    void threadOutlivesEntriesThatFindNoMemory() {
        startable = 1;
        failure = () -> {
            throw new OutOfMemoryError("Java heap space");
        };
        runners.run(submission(0));
        assertThat(batch.take(ENTRIES, ENTRIES, Optional.empty()))
                .extracting(BatchEvent::status, BatchEvent::result)
                .hasSize(ENTRIES)
                .containsOnly(tuple(BatchStatus.FAILED, (long) -Errno.EIO));
        assertThat(batch.atWork()).isZero();

        failure = NO_FAILURE;
        runners.run(submission(100));
        assertThat(batch.take(ENTRIES, ENTRIES, Optional.empty()))
                .extracting(BatchEvent::status)
                .hasSize(ENTRIES)
                .containsOnly(BatchStatus.COMPLETE);
        assertThat(threads).hasSize(1).allMatch(Thread::isAlive);
    }

    @Test
    void submissionFailsIfItsOnlyThreadFindsNoMemoryToBegin() {
        startable = 1;
        failureAtStart = () -> {
            Thread.currentThread().setUncaughtExceptionHandler((thread, thrown) -> {
            });
            throw new OutOfMemoryError("Java heap space");
        };
        runners.run(submission(0));
        assertThat(batch.take(ENTRIES, ENTRIES, Optional.empty()))
                .extracting(BatchEvent::status)
                .hasSize(ENTRIES)
                .containsOnly(BatchStatus.FAILED);

        failureAtStart = NO_FAILURE;
        startable = 1;
        runners.run(submission(100));
        assertThat(batch.take(ENTRIES, ENTRIES, Optional.empty()))
                .extracting(BatchEvent::status)
                .hasSize(ENTRIES)
                .containsOnly(BatchStatus.COMPLETE);
    }

    @Test
    void destroyedBatchDropsEntriesWhoseThreadFailed() {
        startable = 1;
        failure = () -> {
            throw new OutOfMemoryError("Java heap space");
        };
        runners.run(submission(0));
        batch.destroy();
        assertThat(batch.atWork()).isZero();
    }
}
