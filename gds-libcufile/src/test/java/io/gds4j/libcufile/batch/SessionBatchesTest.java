package io.gds4j.libcufile.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.libcufile.SessionRig;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CountDownLatch;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The batches of a session whose threads run when the test says so. */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SessionBatchesTest extends SessionRig {
    private static final Optional<Duration> AT_ONCE = Optional.of(Duration.ZERO);
    private static final int ENTRIES = 12;
    private static final int BYTES = 64;

    private final Queue<Runnable> threads = new ArrayDeque<>();
    private final CuFileCounters counters = new CuFileCounters(machine.cuda.available());
    private SessionBatches batches;
    private LibraryFile file;
    private MemoryAllocation memory;

    @BeforeEach
    void join() {
        OpenLibrary library = openLibrary();
        batches = new SessionBatches(library, transfers(library), counters, machine.cuda, threads::add,
                request -> (LibraryFile) request.file());
        counters.open(3);
        counters.start();
        BackendFile registered = file();
        file = (LibraryFile) registered;
        memory = allocate(MemoryKind.HOST, ENTRIES * BYTES);
    }

    private LibraryBatch submitted() {
        LibraryBatch batch = batches.setUp(ENTRIES);
        batches.submit(batch, LongStream.range(0, ENTRIES)
                .mapToObj(i -> new BatchRequest(file, Operation.READ, memory.range(), BYTES, i * BYTES, i * BYTES, i))
                .toList(), 0);
        return batch;
    }

    private void runThreads() {
        while (!threads.isEmpty()) {
            threads.remove().run();
        }
    }

    @Test
    void aSessionIsBusyUntilItsEntriesHaveMoved() {
        batches.setUp(1);
        assertThat(batches.isBusy()).isFalse();
        LibraryBatch batch = submitted();
        assertThat(batches.isBusy()).isTrue();
        runThreads();
        assertThat(batches.isBusy()).isFalse();
        assertThat(batches.await(batch, ENTRIES, ENTRIES, AT_ONCE)).hasSize(ENTRIES);
        assertThat(bytes(memory, 0, ENTRIES * BYTES)).isEqualTo(expected(0, ENTRIES * BYTES));
        batches.close();
    }

    /** The JVM exits. */
    @Test
    void entriesOfAllBatchesThatHaveNotBegunAreCancelled() {
        List<LibraryBatch> both = List.of(submitted(), submitted());
        batches.cancelAll();
        assertThat(batches.isBusy()).isFalse();
        runThreads();
        for (LibraryBatch batch : both) {
            assertThat(batches.await(batch, ENTRIES, ENTRIES, AT_ONCE)).hasSize(ENTRIES)
                    .extracting(BatchEvent::status, BatchEvent::result)
                    .containsOnly(tuple(BatchStatus.CANCELED, (long) -Errno.ECANCELED));
        }
        batches.close();
        assertThat(fake.transfers().movedBytes()).isZero();
    }

    @Test
    void eachCallIsCountedOnce() {
        LibraryBatch batch = submitted();
        runThreads();
        batches.await(batch, 0, ENTRIES, AT_ONCE);
        batches.cancel(batch);
        expect(CuFileError.INVALID_VALUE, () -> batches.setUp(0));
        expect(CuFileError.INVALID_VALUE, () -> batches.await(batch, 2, 1, AT_ONCE));
        expect(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, () -> batches.submit(batch, List.of(), 0));
        batches.destroy(batch);
        batches.destroy(batch);
        batches.destroy(submitted()); // cancels
        LibraryBatch last = batches.setUp(2);
        batches.close();
        batches.destroy(last);
        StatisticsLevel1 counted = counters.level1();
        assertThat(List.of(counted.batchSetUpOps(), counted.batchSubmitOps(), counted.batchCompleteOps(),
                counted.batchCancelOps(), counted.batchDestroyOps(), counted.batchProcessedOps()))
                .containsExactly(new OperationCount(3, 1), new OperationCount(2, 1), new OperationCount(1, 1),
                        new OperationCount(1, 0), new OperationCount(2, 0), new OperationCount(ENTRIES, 0));
        expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> batches.setUp(1));
    }

    @Test
    void aBatchThatTwoThreadsDestroyCountsOnce() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        fake.transfers().during(() -> {
            begun.countDown();
            try {
                go.await();
            } catch (InterruptedException e) {
                fake.violated("a thread of the session is interrupted");
            }
        });
        LibraryBatch batch = submitted();
        List<Thread> all = new ArrayList<>();
        try {
            all.add(Thread.ofPlatform().daemon().start(threads.remove()));
            begun.await();
            for (int i = 0; i < 2; i++) {
                Thread caller = Thread.ofPlatform().daemon().start(() -> batches.destroy(batch));
                all.add(caller);
                while (caller.getState() != Thread.State.WAITING) {
                    assertThat(caller.isAlive()).as("waits for the entry").isTrue();
                    Thread.onSpinWait();
                }
            }
        } finally {
            go.countDown();
        }
        for (Thread each : all) {
            each.join();
        }
        assertThat(counters.level1().batchDestroyOps()).isEqualTo(new OperationCount(1, 0));
        batches.close();
    }
}
