package io.gds4j.libcufile.batch;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.libcufile.SessionRig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.IoPath;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Entries that the library would serve by POSIX I/O are single transfers; all entries here are. The library's batches never get
 * them, because its threads go on with such an entry after its event was taken.
 */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SingleEntryTest extends SessionRig {
    private static final Optional<Duration> SOON = Optional.of(Duration.ofSeconds(10));
    private static final Optional<Duration> AT_ONCE = Optional.of(Duration.ZERO);
    private static final int THREADS = 8;

    private final CountDownLatch hold = new CountDownLatch(1);
    private final CountDownLatch held = new CountDownLatch(1);

    @AfterEach
    void theLibrarysBatchesWereNotUsed() {
        hold.countDown();
        assertThat(fake.callsOf("cuFileBatchIOSetUp")).isEmpty();
    }

    private static List<BatchRequest> reads(BackendFile file, MemoryAllocation memory, int count, long size) {
        List<BatchRequest> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(new BatchRequest(file, Operation.READ, memory.range(), size, i * 64L, i * 64L, i));
        }
        return requests;
    }

    /** Makes every transfer wait from now on. */
    private void holdTransfers() {
        fake.transfers().during(() -> {
            held.countDown();
            try {
                hold.await();
            } catch (InterruptedException e) {
                fake.violated("a thread of the session is interrupted");
            }
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"HOST", "HOST_PINNED", "CUDA_DEVICE", "CUDA_MANAGED"})
    void eachEntryMovesItsBytesAndHasOneEvent(MemoryKind kind) {
        MemoryAllocation memory = allocate(kind, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(128);
        backend.batchIoSubmit(batch, reads(file, memory, 128, 64), 0);
        assertThat(backend.batchIoGetStatus(batch, 128, 128, SOON))
                .extracting(BatchEvent::cookie)
                .doesNotHaveDuplicates()
                .hasSize(128);
        assertThat(bytes(memory, 0, 128 * 64)).isEqualTo(expected(0, 128 * 64));
        assertThat(backend.batchIoGetStatus(batch, 0, 8, AT_ONCE)).isEmpty();
        assertThat(backend.batchIoGetStatus(batch, 5, 8, SOON)).as("nothing is outstanding").isEmpty();
        assertThat(backend.controls().engineStatistics().bytesByPath())
                .isEqualTo(Map.of(IoPath.LIBCUFILE_POSIX, 128 * 64L));
    }

    @Test
    void misalignedHostMemoryOnADirectHandleIsServed() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 3 * 8192);
        BackendFile file = backend.handleRegister(
                FileSource.Named.of(path, StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT));
        BackendBatch batch = backend.batchIoSetUp(4);
        backend.batchIoSubmit(
                batch,
                List.of(
                        new BatchRequest(file, Operation.READ, memory.range(), 8192, 4096, 5, 1),
                        new BatchRequest(file, Operation.READ, memory.range(), 4096, 0, 16384, 2)),
                0);
        assertThat(backend.batchIoGetStatus(batch, 2, 4, SOON))
                .containsExactlyInAnyOrder(
                        new BatchEvent(1, BatchStatus.COMPLETE, 8192), new BatchEvent(2, BatchStatus.COMPLETE, 4096));
        assertThat(bytes(memory, 5, 8192)).isEqualTo(expected(4096, 8192));
        assertThat(bytes(memory, 16384, 4096)).isEqualTo(expected(0, 4096));
    }

    @Test
    void eightEntriesMoveAtATime() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        AtomicInteger now = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        fake.transfers().during(() -> {
            most.accumulateAndGet(now.incrementAndGet(), Math::max);
            Thread.yield();
            now.decrementAndGet();
        });
        BackendBatch batch = backend.batchIoSetUp(128);
        for (int round = 0; round < 10; round++) {
            backend.batchIoSubmit(batch, reads(file, memory, 128, 64), 0);
            assertThat(backend.batchIoGetStatus(batch, 128, 128, SOON)).hasSize(128);
        }
        assertThat(most.get()).isBetween(1, THREADS);
    }

    @Test
    void submittingDoesNotWaitForTransfers() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(8);
        holdTransfers();
        backend.batchIoSubmit(batch, reads(file, memory, 6, 64), 0);
        expect(
                CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                () -> backend.batchIoSubmit(batch, reads(file, memory, 3, 64), 0));
        assertThat(backend.batchIoGetStatus(batch, 6, 8, Optional.of(Duration.ofMillis(30)))).isEmpty();
        hold.countDown();
        assertThat(backend.batchIoGetStatus(batch, 6, 8, SOON)).hasSize(6);
        backend.batchIoSubmit(batch, reads(file, memory, 8, 64), 0);
        assertThat(backend.batchIoGetStatus(batch, 8, 8, SOON)).hasSize(8);
    }

    @Test
    void cancelEndsEntriesThatHaveNotBegun() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(64);
        holdTransfers();
        backend.batchIoSubmit(batch, reads(file, memory, 64, 64), 0);
        backend.batchIoCancel(batch);
        List<BatchEvent> cancelled = backend.batchIoGetStatus(batch, 64 - THREADS, 64, SOON);
        assertThat(cancelled)
                .hasSizeGreaterThanOrEqualTo(64 - THREADS)
                .allMatch(event -> event.status() == BatchStatus.CANCELED && event.result() == -Errno.ECANCELED);
        hold.countDown();
        assertThat(backend.batchIoGetStatus(batch, 64, 64, SOON))
                .hasSize(64 - cancelled.size())
                .allMatch(event -> event.status() == BatchStatus.COMPLETE);
    }

    @Test
    void failedEntryHasItsErrnoAndOthersSucceed() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(8);
        fake.transfers().answerNext(-1, Errno.ENOSPC);
        backend.batchIoSubmit(batch, reads(file, memory, 8, 64), 0);
        List<BatchEvent> events = backend.batchIoGetStatus(batch, 8, 8, SOON);
        assertThat(events).filteredOn(event -> event.status() == BatchStatus.COMPLETE).hasSize(7);
        assertThat(events)
                .filteredOn(event -> event.status() == BatchStatus.FAILED)
                .hasSize(1)
                .allMatch(event -> event.result() == -Errno.ENOSPC);
    }

    @Test
    void interruptEndsTheWaitOnly() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        holdTransfers();
        backend.batchIoSubmit(batch, reads(file, memory, 4, 64), 0);
        assertInterruptEndsTheWait(batch, 4);
        hold.countDown();
        assertThat(backend.batchIoGetStatus(batch, 4, 4, SOON)).hasSize(4);
    }

    @Test
    void destroyWaitsForEntriesThatHaveBegun() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(64);
        holdTransfers();
        backend.batchIoSubmit(batch, reads(file, memory, 64, 64), 0);
        held.await();
        Thread first = Thread.ofPlatform().start(() -> backend.batchIoDestroy(batch));
        awaitWaiting(first);
        Thread closer = Thread.ofPlatform().start(backend::driverClose);
        awaitWaiting(closer);
        hold.countDown();
        first.join();
        closer.join();
        assertThat(fake.transfers().movedBytes()).isLessThanOrEqualTo(THREADS * 64L);
        assertThat(fake.driver().isOpen()).isFalse();
    }

    private static void awaitWaiting(Thread thread) {
        awaitState(thread, Thread.State.WAITING);
    }

    private static void awaitState(Thread thread, Thread.State state) {
        while (thread.getState() != state) {
            assertThat(thread.isAlive()).as("still waiting").isTrue();
            Thread.onSpinWait();
        }
    }

    /** The first entry ends a wait for one, though another of the batch still moves. */
    @Test
    void eachEntryThatEndsWakesAWait() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(2);
        AtomicInteger begun = new AtomicInteger();
        CountDownLatch first = new CountDownLatch(1);
        fake.transfers().during(() -> {
            try {
                (begun.getAndIncrement() == 0 ? first : hold).await();
            } catch (InterruptedException e) {
                fake.violated("a thread of the session is interrupted");
            }
        });
        backend.batchIoSubmit(batch, reads(file, memory, 2, 64), 0);
        AtomicReference<List<BatchEvent>> found = new AtomicReference<>(List.of());
        Thread waiter = Thread.ofPlatform().daemon()
                .start(() -> found.set(backend.batchIoGetStatus(batch, 1, 2, Optional.empty())));
        awaitState(waiter, Thread.State.TIMED_WAITING);
        first.countDown();
        waiter.join();
        assertThat(found.get()).hasSize(1);
        hold.countDown();
        assertThat(backend.batchIoGetStatus(batch, 1, 2, SOON)).hasSize(1);
    }

    /** The bytes in front of the failure were moved. */
    @Test
    void bytesInFrontOfAFailureAreReported() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(1);
        fake.transfers().stopNextAfter(100);
        fake.transfers().answerNext(-1, Errno.EIO);
        List<String> lines = new CopyOnWriteArrayList<>();
        BatchRequest request = new BatchRequest(file, Operation.READ, memory.range(), 1000, 4096, 0, 7);
        backend.batchIoSubmit(batch, List.of(request.reportTo((path, at, bytes) -> lines.add(at + "+" + bytes))), 0);
        assertThat(backend.batchIoGetStatus(batch, 1, 1, SOON))
                .containsExactly(new BatchEvent(7, BatchStatus.FAILED, -Errno.EIO));
        assertThat(lines).containsExactly("4096+100");
    }
}
