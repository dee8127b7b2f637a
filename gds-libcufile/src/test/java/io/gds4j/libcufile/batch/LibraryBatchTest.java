package io.gds4j.libcufile.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.libcufile.FakeMachine;
import io.gds4j.libcufile.SessionRig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Batches on direct storage use the library's own. A submission takes all entries or none, each event comes once, and the library
 * never has more entries than slabs.
 */
@Timeout(value = 30, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LibraryBatchTest extends SessionRig {
    private static final int PAGE = 4096;
    private static final Optional<Duration> SOON = Optional.of(Duration.ofSeconds(10));
    private static final Optional<Duration> AT_ONCE = Optional.of(Duration.ZERO);
    private static final int SLABS_OF_A_MEBIBYTE = 64;

    @Override
    protected FakeMachine machine() {
        return FakeMachine.withTwoGpus().withDirectStorage();
    }

    private static BatchRequest read(BackendFile file, MemoryAllocation memory, long size, long fileOffset, long at) {
        return new BatchRequest(file, Operation.READ, memory.range(), size, fileOffset, at, fileOffset);
    }

    private List<BatchRequest> reads(BackendFile file, MemoryAllocation memory, int count, long size) {
        List<BatchRequest> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long at = i * (long) PAGE;
            requests.add(new BatchRequest(file, Operation.READ, memory.range(), size, at, at, i));
        }
        return requests;
    }

    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void eachEntryMovesItsBytesAndHasOneEvent(MemoryKind kind) {
        MemoryAllocation memory = allocate(kind, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(8);
        assertThat(batch.capacity()).isEqualTo(8);

        backend.batchIoSubmit(
                batch, List.of(read(file, memory, PAGE, 8192, 0), read(file, memory, 8192, 65536, PAGE)), 0);
        List<BatchEvent> events = new ArrayList<>(backend.batchIoGetStatus(batch, 2, 8, SOON));

        assertThat(events)
                .containsExactlyInAnyOrder(
                        new BatchEvent(8192, BatchStatus.COMPLETE, PAGE),
                        new BatchEvent(65536, BatchStatus.COMPLETE, 8192));
        assertThat(bytes(memory, 0, PAGE)).isEqualTo(expected(8192, PAGE));
        assertThat(bytes(memory, PAGE, 8192)).isEqualTo(expected(65536, 8192));
        assertThat(backend.batchIoGetStatus(batch, 0, 8, AT_ONCE)).isEmpty();
        assertThat(backend.batchIoGetStatus(batch, 5, 8, SOON)).as("nothing is outstanding").isEmpty();
        assertThat(backend.controls().engineStatistics().bytesByPath()).isEqualTo(Map.of(IoPath.NVFS, 3L * PAGE));
    }

    @Test
    void oneBatchMayHoldReadsAndWrites() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        backend.read(file, memory.range(), 100, 0, 0);
        BackendBatch batch = backend.batchIoSetUp(2);
        backend.batchIoSubmit(
                batch,
                List.of(
                        new BatchRequest(file, Operation.WRITE, memory.range(), PAGE, SIZE, 0, 1),
                        new BatchRequest(file, Operation.READ, memory.range(), PAGE, 8192, PAGE, 2)),
                0);
        assertThat(backend.batchIoGetStatus(batch, 2, 2, SOON)).hasSize(2);
        assertThat(file.size()).isEqualTo(SIZE + PAGE);
        assertThat(bytes(memory, PAGE, PAGE)).isEqualTo(expected(8192, PAGE));
    }

    @ParameterizedTest
    @ValueSource(longs = {4096, 65536, 1 << 20})
    void entriesOfAllBatchesNeverExceedTheSlabs(long size) {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, (1 << 20) + 128 * PAGE);
        BackendFile file = file();
        BackendBatch first = backend.batchIoSetUp(128);
        BackendBatch second = backend.batchIoSetUp(128);
        backend.batchIoSubmit(first, reads(file, memory, 128, size), 0);
        backend.batchIoSubmit(second, reads(file, memory, 128, size), 0);

        assertThat(backend.batchIoGetStatus(second, 128, 128, SOON)).hasSize(128);
        assertThat(backend.batchIoGetStatus(first, 128, 128, SOON)).hasSize(128);
        assertThat(fake.batches().mostInside()).isLessThanOrEqualTo(size == 4096 ? 64 : SLABS_OF_A_MEBIBYTE / 2);
    }

    @Test
    void starvedBatchContinuesWhileAnotherKeepsItsEvents() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, (1 << 20) + 128 * PAGE);
        BackendFile file = file();
        BackendBatch hog = backend.batchIoSetUp(64);
        BackendBatch starved = backend.batchIoSetUp(64);
        backend.batchIoSubmit(hog, reads(file, memory, 64, 65536), 0);
        backend.batchIoSubmit(starved, reads(file, memory, 10, 65536), 0);

        assertThat(backend.batchIoGetStatus(starved, 10, 64, SOON)).hasSize(10);
        assertThat(backend.batchIoGetStatus(hog, 64, 64, SOON)).hasSize(64);
    }

    @Test
    void eventsAreHandedOutUpToTheMaximum() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(8);
        backend.batchIoSubmit(batch, reads(file, memory, 8, PAGE), 0);
        assertThat(backend.batchIoGetStatus(batch, 3, 3, SOON)).hasSize(3);
        assertThat(backend.batchIoGetStatus(batch, 0, 2, AT_ONCE)).hasSize(2);
        assertThat(backend.batchIoGetStatus(batch, 3, 8, SOON)).hasSize(3);
    }

    @Test
    void unfetchedEntriesCountAgainstTheCapacity() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        backend.batchIoSubmit(batch, reads(file, memory, 3, PAGE), 0);
        expect(
                CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                () -> backend.batchIoSubmit(batch, reads(file, memory, 2, PAGE), 0));
        expect(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, () -> backend.batchIoSubmit(batch, List.of(), 0));
        assertThat(backend.batchIoGetStatus(batch, 3, 4, SOON)).hasSize(3);
        backend.batchIoSubmit(batch, reads(file, memory, 4, PAGE), 0);
        assertThat(backend.batchIoGetStatus(batch, 4, 4, SOON)).hasSize(4);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, 129, Integer.MAX_VALUE})
    void capacityOutOfRangeNeverReachesTheLibrary(int capacity) {
        CuFileException failure = failure(() -> backend.batchIoSetUp(capacity));
        assertThat(failure.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(failure.detail()).contains("1 to 128");
        assertThat(fake.callsOf("cuFileBatchIOSetUp")).isEmpty();
    }

    @Test
    void entryLeavesMemoryBehindTheEndOfFileUntouched() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 16384);
        backend.allocator().fill(memory.range(), (byte) 7);
        BackendBatch batch = backend.batchIoSetUp(4);
        BackendFile file = file();
        backend.batchIoSubmit(
                batch,
                List.of(
                        new BatchRequest(file, Operation.READ, memory.range(), 8192, SIZE - 4096, 0, 1),
                        new BatchRequest(file, Operation.READ, memory.range(), 4096, SIZE, 8192, 2),
                        new BatchRequest(file, Operation.READ, memory.range(), 4096, SIZE + 4096, 8192, 3)),
                0);
        List<BatchEvent> events = backend.batchIoGetStatus(batch, 3, 4, Optional.of(Duration.ofSeconds(5)));
        assertThat(events).extracting(BatchEvent::cookie, BatchEvent::status, BatchEvent::result)
                .containsExactlyInAnyOrder(
                        tuple(1L, BatchStatus.COMPLETE, 4096L), tuple(2L, BatchStatus.COMPLETE, 0L),
                        tuple(3L, BatchStatus.COMPLETE, 0L));
        assertThat(bytes(memory, 0, 4096)).isEqualTo(expected(SIZE - 4096, 4096));
        assertThat(bytes(memory, 4096, 16384 - 4096)).containsOnly(7);
        backend.batchIoDestroy(batch);
    }

    @Test
    void flagsNeverReachTheLibrary() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        expect(
                CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                () -> backend.batchIoSubmit(batch, reads(file, memory, 1, PAGE), 5));
    }

    @Test
    void badEntryFailsTheWholeSubmission() {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        BackendFile dead = file();
        backend.handleDeregister(dead);
        BackendBatch batch = backend.batchIoSetUp(8);
        BatchRequest good = read(file, memory, 64, 0, 0);
        for (BatchRequest bad : List.of(
                read(file, memory, -1, 0, 0),
                read(file, memory, 64, -1, 0),
                read(file, memory, 64, 0, -1),
                read(file, memory, 64, 0, 65536),
                read(dead, memory, 64, 0, 0))) {
            expect(
                    CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                    () -> backend.batchIoSubmit(batch, List.of(good, bad), 0));
        }
        assertThat(backend.batchIoGetStatus(batch, 0, 8, AT_ONCE)).isEmpty();
        assertThat(fake.transfers().movedBytes()).isZero();
        backend.batchIoSubmit(batch, reads(file, memory, 8, PAGE), 0);
        assertThat(backend.batchIoGetStatus(batch, 8, 8, SOON)).hasSize(8);
    }

    @Test
    void refusedSubmissionThrows() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        fake.batches().refuseSubmits(5035);
        expect(
                CuFileError.BATCH_SUBMIT_FAILED,
                () -> backend.batchIoSubmit(batch, reads(file, memory, 4, PAGE), 0));
        fake.batches().refuseSubmits(0);
        assertThat(backend.batchIoGetStatus(batch, 0, 4, AT_ONCE)).isEmpty();
        backend.batchIoSubmit(batch, reads(file, memory, 4, PAGE), 0);
        assertThat(backend.batchIoGetStatus(batch, 4, 4, SOON)).hasSize(4);
    }

    @Test
    void refusedWaitingEntryBecomesAFailedEvent() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, (1 << 20) + 128 * PAGE);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(64);
        backend.batchIoSubmit(batch, reads(file, memory, 64, 65536), 0);
        fake.batches().refuseSubmits(5035);

        List<BatchEvent> events = backend.batchIoGetStatus(batch, 64, 64, SOON);

        assertThat(events).hasSize(64);
        assertThat(events.stream().filter(event -> event.status() == BatchStatus.COMPLETE)).hasSize(32);
        assertThat(events.stream().filter(event -> event.status() == BatchStatus.FAILED))
                .allMatch(event -> event.result() == -5035)
                .extracting(BatchEvent::cookie).as("in their order")
                .containsExactlyElementsOf(LongStream.range(32, 64).boxed().toList());
    }

    @Test
    void timeoutReturnsTheEventsSoFar() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        fake.batches().hold();
        backend.batchIoSubmit(batch, reads(file, memory, 4, PAGE), 0);
        long begin = System.nanoTime();
        assertThat(backend.batchIoGetStatus(batch, 4, 4, Optional.of(Duration.ofMillis(50)))).isEmpty();
        assertThat(System.nanoTime() - begin).isGreaterThanOrEqualTo(Duration.ofMillis(50).toNanos());
        fake.batches().release();
        assertThat(backend.batchIoGetStatus(batch, 4, 4, Optional.empty())).hasSize(4);
    }

    @Test
    void cancelledEntriesComeBackAsCancelled() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, (1 << 20) + 128 * PAGE);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(64);
        fake.batches().hold();
        backend.batchIoSubmit(batch, reads(file, memory, 64, 65536), 0);
        backend.batchIoCancel(batch);
        assertThat(backend.batchIoGetStatus(batch, 32, 64, SOON))
                .as("what the library has goes on, because it would drop the events")
                .hasSize(32)
                .allMatch(event -> event.status() == BatchStatus.CANCELED && event.result() == -Errno.ECANCELED);
        fake.batches().release();
        assertThat(backend.batchIoGetStatus(batch, 32, 64, SOON))
                .hasSize(32)
                .allMatch(event -> event.status() == BatchStatus.COMPLETE);
        assertThat(fake.callsOf("cuFileBatchIOCancel")).isEmpty();
    }

    /** The library may still use the slabs: no entry gets them any more. */
    @Test
    void entryLostByARefusedSubmissionFailsAndKeepsItsSlab() {
        int slabs = SLABS_OF_A_MEBIBYTE / 2;
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, (1 << 20) + 128 * PAGE);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(64);
        fake.batches().hold();
        backend.batchIoSubmit(batch, reads(file, memory, slabs, 65536), 0);
        fake.batches().refuseAndLose(5040);
        expect(
                CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                () -> backend.batchIoSubmit(batch, reads(file, memory, 2, PAGE), 0));
        fake.batches().refuseSubmits(0);
        fake.batches().release();
        assertThat(backend.batchIoGetStatus(batch, slabs, 64, SOON))
                .hasSize(slabs)
                .allMatch(event -> event.status() == BatchStatus.FAILED
                        && event.result() == -CuFileError.INTERNAL_ERROR.code());
        backend.batchIoSubmit(batch, reads(file, memory, 3, 65536), 0);
        assertThat(backend.batchIoGetStatus(batch, 0, 64, AT_ONCE)).isEmpty();
        backend.batchIoCancel(batch);
        assertThat(backend.batchIoGetStatus(batch, 3, 64, SOON)).hasSize(3)
                .allMatch(event -> event.status() == BatchStatus.CANCELED && event.result() == -Errno.ECANCELED);
        backend.batchIoSubmit(batch, reads(file, memory, 3, PAGE), 0);
        assertThat(backend.batchIoGetStatus(batch, 3, 64, SOON)).as("other slabs").hasSize(3)
                .allMatch(event -> event.result() == PAGE);
    }

    @Test
    void failedEntryHasItsErrno() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        fake.batches().failEntries(Errno.EIO);
        backend.batchIoSubmit(batch, List.of(read(file, memory, PAGE, 8192, 0)), 0);
        assertThat(backend.batchIoGetStatus(batch, 1, 4, SOON))
                .containsExactly(new BatchEvent(8192, BatchStatus.FAILED, -Errno.EIO));
    }

    @Test
    void entryEndedEarlyByTheLibraryIsCompleted() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        fake.batches().stopEntriesAfter(1000);
        backend.batchIoSubmit(batch, List.of(read(file, memory, 8192, PAGE, 0), read(file, memory, PAGE, 0, 8192)), 0);
        assertThat(backend.batchIoGetStatus(batch, 2, 4, SOON))
                .containsExactlyInAnyOrder(
                        new BatchEvent(PAGE, BatchStatus.COMPLETE, 8192),
                        new BatchEvent(0, BatchStatus.COMPLETE, PAGE));
        assertThat(bytes(memory, 0, 8192)).isEqualTo(expected(PAGE, 8192));
        assertThat(backend.controls().engineStatistics().bytesByPath()).isEqualTo(Map.of(IoPath.NVFS, 3L * PAGE));
    }

    @Test
    void entryLargerThanAnySlabIsASingleTransfer() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, SIZE);
        backend.driverClose();
        CuFileBackend narrow = machine.backend(CuFileConfig.builder()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(64L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(4L))
                .build());
        narrow.driverOpen();
        BackendFile file = narrow.handleRegister(source(path));
        BackendBatch batch = narrow.batchIoSetUp(4);
        narrow.batchIoSubmit(batch, List.of(read(file, memory, SIZE, 0, 0), read(file, memory, PAGE, PAGE, PAGE)), 0);
        assertThat(narrow.batchIoGetStatus(batch, 2, 4, SOON))
                .containsExactlyInAnyOrder(
                        new BatchEvent(0, BatchStatus.COMPLETE, SIZE),
                        new BatchEvent(PAGE, BatchStatus.COMPLETE, PAGE));
        assertThat(bytes(memory, 0, SIZE)).isEqualTo(expected(0, SIZE));
        narrow.driverClose();
    }

    @Test
    void unsafeEntriesAreSingleTransfers() {
        MemoryAllocation host = allocate(MemoryKind.HOST, 65536);
        MemoryAllocation gpu = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(8);
        backend.batchIoSubmit(
                batch,
                List.of(
                        read(file, host, 4096, 8192, 4096),
                        read(file, gpu, 4096, 12288, 1),
                        read(file, gpu, 4096, 16385, 8192),
                        read(file, gpu, 4095, 20480, 16384),
                        new BatchRequest(file, Operation.WRITE, gpu.range(), 4096, Long.MAX_VALUE - 8192, 0, 7)),
                0);
        assertThat(backend.batchIoGetStatus(batch, 5, 8, SOON))
                .hasSize(5)
                .contains(
                        new BatchEvent(8192, BatchStatus.COMPLETE, 4096),
                        new BatchEvent(12288, BatchStatus.COMPLETE, 4096),
                        new BatchEvent(16385, BatchStatus.COMPLETE, 4096),
                        new BatchEvent(20480, BatchStatus.COMPLETE, 4095))
                .anyMatch(event -> event.cookie() == 7 && event.status() == BatchStatus.FAILED);
        assertThat(bytes(host, 4096, 4096)).isEqualTo(expected(8192, 4096));
        assertThat(fake.batches().open()).as("nothing was for it").isZero();
        assertThat(fake.batches().mostInside()).isZero();
    }

    @Test
    void interruptEndsTheWaitOnly() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        fake.batches().hold();
        backend.batchIoSubmit(batch, reads(file, memory, 4, PAGE), 0);
        assertInterruptEndsTheWait(batch, 4);
        fake.batches().release();
        assertThat(backend.batchIoGetStatus(batch, 4, 4, SOON)).hasSize(4);
    }

    @Test
    void destroyingABatchAgainIsIgnored() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        backend.batchIoSubmit(batch, reads(file, memory, 4, PAGE), 0);
        backend.batchIoDestroy(batch);
        backend.batchIoDestroy(batch);
        assertThat(fake.batches().open()).isZero();
        expect(
                CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                () -> backend.batchIoSubmit(batch, reads(file, memory, 1, PAGE), 0));
        expect(
                CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR, () -> backend.batchIoGetStatus(batch, 0, 4, AT_ONCE));
        backend.batchIoCancel(batch);
        backend.handleDeregister(file);
    }

    @Test
    void batchOfAnotherSessionIsUnknown() {
        CuFileBackend other = machine.backend();
        other.driverOpen();
        BackendBatch theirs = other.batchIoSetUp(4);
        expect(
                CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR,
                () -> backend.batchIoGetStatus(theirs, 0, 4, AT_ONCE));
        BackendFile file = other.handleRegister(source(path));
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        other.batchIoSubmit(theirs, List.of(read(file, memory, PAGE, 0, 0)), 0);
        backend.batchIoDestroy(theirs);
        assertThat(fake.batches().open()).isEqualTo(1);
        assertThat(other.batchIoGetStatus(theirs, 1, 4, SOON)).hasSize(1);
        other.driverClose();
    }

    @Test
    void closingTheDriverWaitsForEntriesInFlight() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, (1 << 20) + 128 * PAGE);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(64);
        fake.batches().hold();
        backend.batchIoSubmit(batch, reads(file, memory, 64, 65536), 0);
        Thread closer = Thread.ofPlatform().start(backend::driverClose);
        while (backend.useCount() > 0) {
            Thread.onSpinWait();
        }
        assertThat(fake.batches().open()).isEqualTo(1);
        fake.batches().release();
        closer.join();
        assertThat(fake.batches().open()).isZero();
        assertThat(fake.callsOf("cuFileBatchIOCancel")).isEmpty();
        expect(CuFileError.DRIVER_NOT_INITIALIZED, () -> backend.batchIoSetUp(1));
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 5})
    void minimumOutsideZeroToMaximumIsRefused(int minimum) {
        BackendBatch batch = backend.batchIoSetUp(4);
        expect(CuFileError.INVALID_VALUE, () -> backend.batchIoGetStatus(batch, minimum, 4, AT_ONCE));
    }

    /** Each used slab comes back, whatever became of its entry. */
    @Test
    void failedEntriesKeepNoSlab() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, (1 << 20) + 128 * PAGE);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(64);
        for (int errno : new int[]{Errno.EIO, 0, Errno.EIO, 0}) {
            fake.batches().failEntries(errno);
            backend.batchIoSubmit(batch, reads(file, memory, 64, 65536), 0);
            assertThat(backend.batchIoGetStatus(batch, 64, 64, SOON)).hasSize(64)
                    .allMatch(event -> event.result() == (errno == 0 ? 65536 : -errno));
        }
    }

    /** @param early bytes after which the library ends the entry; -1 for none */
    @ParameterizedTest
    @CsvSource({"HOST, -1, 4096+8192", "CUDA_DEVICE, -1, 4096+8192", "CUDA_DEVICE, 1000, 4096+1000 5096+7192",
            "CUDA_DEVICE, 0, 4096+8192"})
    void bytesOfAnEntryAreReportedOnce(MemoryKind kind, int early, String heard) {
        MemoryAllocation memory = allocate(kind, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(1);
        if (early >= 0) {
            fake.batches().stopEntriesAfter(early);
        }
        List<String> lines = new CopyOnWriteArrayList<>();
        BatchRequest request = read(file, memory, 8192, PAGE, 0);
        backend.batchIoSubmit(batch, List.of(request.reportTo((path, at, bytes) -> lines.add(at + "+" + bytes))), 0);
        assertThat(backend.batchIoGetStatus(batch, 1, 1, SOON))
                .containsExactly(new BatchEvent(PAGE, BatchStatus.COMPLETE, 8192));
        assertThat(String.join(" ", lines)).isEqualTo(heard);
        assertThat(bytes(memory, 0, 8192)).isEqualTo(expected(PAGE, 8192));
    }

    /** A wait for the library's entries and single ones ends with whichever is first. */
    @Test
    void entryOfTheLibraryEndsAWaitWhileASingleOneMoves() throws Exception {
        MemoryAllocation host = allocate(MemoryKind.HOST, 65536);
        MemoryAllocation gpu = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(2);
        CountDownLatch go = new CountDownLatch(1);
        fake.transfers().during(() -> awaitLatch(go));
        fake.batches().hold();
        try {
            backend.batchIoSubmit(batch, List.of(read(file, host, PAGE, 0, 0), read(file, gpu, PAGE, 8192, 0)), 0);
            AtomicReference<List<BatchEvent>> found = new AtomicReference<>();
            Thread waiter = Thread.ofPlatform().daemon()
                    .start(() -> found.set(backend.batchIoGetStatus(batch, 1, 2, Optional.empty())));
            awaitTimedWait(waiter);
            fake.batches().release();
            waiter.join();
            assertThat(found.get()).containsExactly(new BatchEvent(8192, BatchStatus.COMPLETE, PAGE));
        } finally {
            go.countDown();
        }
        assertThat(backend.batchIoGetStatus(batch, 1, 2, SOON))
                .containsExactly(new BatchEvent(0, BatchStatus.COMPLETE, PAGE));
    }

    @Test
    void aLimitOfAgesIsNone() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        fake.batches().hold();
        backend.batchIoSubmit(batch, reads(file, memory, 4, PAGE), 0);
        AtomicReference<List<BatchEvent>> found = new AtomicReference<>();
        Thread waiter = Thread.ofPlatform().daemon().start(() -> found.set(
                backend.batchIoGetStatus(batch, 4, 4, Optional.of(Duration.ofSeconds(Long.MAX_VALUE)))));
        awaitTimedWait(waiter);
        fake.batches().release();
        waiter.join();
        assertThat(found.get()).hasSize(4);
    }

    @Test
    void destroyingABatchAgainWaitsForTheFirstCall() throws InterruptedException {
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        fake.transfers().during(() -> {
            begun.countDown();
            awaitLatch(go);
        });
        MemoryAllocation host = allocate(MemoryKind.HOST, 65536);
        List<Thread> callers = new ArrayList<>();
        try {
            backend.batchIoSubmit(batch, reads(file, host, 1, PAGE), 0);
            begun.await(); // an entry that has not begun would be cancelled
            for (int i = 0; i < 2; i++) {
                callers.add(Thread.ofPlatform().daemon().start(() -> backend.batchIoDestroy(batch)));
                while (callers.getLast().getState() != Thread.State.WAITING) {
                    assertThat(callers.getLast().isAlive()).as("waits").isTrue();
                    Thread.onSpinWait();
                }
            }
        } finally {
            go.countDown();
        }
        for (Thread caller : callers) {
            caller.join();
        }
        assertThat(bytes(host, 0, PAGE)).isEqualTo(expected(0, PAGE));
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void awaitTimedWait(Thread thread) {
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            assertThat(thread.isAlive()).as("still waiting").isTrue();
            Thread.onSpinWait();
        }
    }

    /** The library takes the memory of a submission for that of the current context. */
    @Test
    void entriesOfEachGpuAreSubmittedInItsContext() {
        List<MemoryAllocation> memories =
                List.of(allocate(MemoryKind.CUDA_DEVICE, 65536, 0), allocate(MemoryKind.CUDA_DEVICE, 65536, 1));
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(6);
        List<BatchRequest> requests = new ArrayList<>();
        for (int gpu : new int[]{0, 1, 1, 0, 0, 1}) {
            long at = requests.size() * (long) PAGE;
            requests.add(read(file, memories.get(gpu), PAGE, at, at));
        }
        backend.batchIoSubmit(batch, requests, 0);
        assertThat(backend.batchIoGetStatus(batch, 6, 6, SOON)).hasSize(6).allMatch(event -> event.result() == PAGE);
        for (BatchRequest request : requests) {
            MemoryAllocation memory = memories.get(request.memory().device());
            assertThat(bytes(memory, request.bufferOffset(), PAGE)).isEqualTo(expected(request.fileOffset(), PAGE));
        }
    }

    @Test
    void entryOfAnEmptyFileMovesNothing() throws IOException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 16384);
        backend.allocator().fill(memory.range(), (byte) 7);
        BackendFile file = backend.handleRegister(source(Files.createFile(folder.resolve("empty"))));
        BackendBatch batch = backend.batchIoSetUp(1);
        backend.batchIoSubmit(batch, List.of(read(file, memory, 8192, 0, 0)), 0);
        assertThat(backend.batchIoGetStatus(batch, 1, 1, SOON))
                .containsExactly(new BatchEvent(0, BatchStatus.COMPLETE, 0));
        assertThat(bytes(memory, 0, 16384)).containsOnly(7);
    }

    @Test
    void entriesThatHaveEndedNeedNoWait() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(4);
        backend.batchIoSubmit(batch, reads(file, memory, 4, PAGE), 0);
        assertThat(backend.batchIoGetStatus(batch, 0, 4, AT_ONCE)).hasSize(4);
    }
}
