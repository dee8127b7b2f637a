package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileBatchException;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStatistics;
import io.gds4j.IoResult;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Contract of batches: a submission takes all entries or none, each entry is reported once, and no wait is endless.
 *
 * @since 0.1
 */
public abstract class BatchContract extends BackendContract {
    private static final int PAGE = 4096;
    private static final int PART = 3 * PAGE + 517;
    private static final Duration LONG = Duration.ofSeconds(60);

    /** For subclasses. */
    protected BatchContract() {
    }

    @BeforeEach
    void backendHasBatches() {
        assumeFalse(backend().unbuiltFunctions().contains("cuFileBatchIOSetUp"), "not built");
    }

    private int largestBatch() {
        return backend().config().get(CuFileKeys.IO_BATCHSIZE).intValue();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void entriesMoveTheirPartsUnalignedAndAtEndOfFile(Way way) {
        int parts = 24;
        GuardedFile source = newFile(parts * PART);
        GuardedFile target = newFile(parts * PART);
        try (CuFileHandle from = openToRead(source, way.mode());
                CuFileHandle to = openToWrite(target, way.mode());
                GuardedMemory in = memory(way.kind(), (parts + 1) * PART);
                GuardedMemory out = memory(way.kind(), parts * PART);
                CuFileBatch batch = driver().batch(2 * parts + 1)) {
            out.put(0, RandomBytes.of(5, parts * PART));
            List<Request> requests = new ArrayList<>();
            for (int part = 0; part < parts; part++) {
                requests.add(Request.read(from, in.range(), PART, (long) part * PART, (long) part * PART));
                requests.add(Request.write(to, out.range(), PART, (long) part * PART, (long) part * PART));
            }
            requests.add(Request.read(from, in.range(), PART, (long) parts * PART - 100, (long) parts * PART));
            batch.submit(requests);
            List<Completion> done = all(batch, requests.size());
            assertThat(done).extracting(Completion::status).containsOnly(BatchStatus.COMPLETE);
            assertThat(done).extracting(Completion::request).containsExactlyInAnyOrderElementsOf(requests);
            assertThat(done.stream().mapToLong(Completion::bytes).sum()).isEqualTo(2L * parts * PART + 100);
            in.expect(0, source.expected(0, parts * PART));
            in.expect(parts * PART, source.expected((long) parts * PART - 100, 100));
            in.verify();
            target.expectWrite(0, out.expected(0, parts * PART));
        }
        target.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void completionsSayWhichPathTheirBytesTook(Way way) {
        int parts = 20;
        GuardedFile file = newFile(2 * parts * PART);
        try (CuFileHandle handle = openToWrite(file, way.mode());
                GuardedMemory memory = memory(way.kind(), (3 * parts + 1) * PART);
                CuFileBatch batch = driver().batch(3 * parts + 1)) {
            List<Request> requests = new ArrayList<>();
            for (int i = 0; i < parts; i++) {
                long at = (long) i * PART;
                requests.add(reported(Request.read(handle, memory.range(), PART, at, at)));
                requests.add(reported(
                        Request.read(handle, memory.range(), PAGE, (long) (parts - i) * PAGE, parts * PART + at)));
                requests.add(reported(
                        Request.write(handle, memory.range(), PART, parts * PART + at, 2 * parts * PART + at)));
            }
            requests.add(reported(
                    Request.read(handle, memory.range(), PART, 2L * parts * PART - 9, 3L * parts * PART)));
            List<Completion> done = batch.transferAll(requests);
            for (Completion one : done) {
                boolean last = one.request() == requests.getLast();
                assertThat(one.report()).isEqualTo(one.request().report());
                assertReports(one.report().orElseThrow(), one.request().size(), last ? 9 : one.request().size());
            }
            assertThat(batch.transferAll(requests)).hasSize(requests.size());
            assertReports(requests.getFirst().report().orElseThrow(), PART, PART);
            List<Request> half = new ArrayList<>();
            for (int i = 0; i < parts; i++) {
                Request plain = Request.read(handle, memory.range(), PART, (long) i * PART, (long) i * PART);
                half.add(i % 2 == 0 ? plain : reported(plain));
            }
            for (Completion one : batch.transferAll(half)) {
                one.report().ifPresent(report -> assertReports(report, PART, PART));
            }
        }
    }

    /** The entries of one stretch of file and memory, which a backend may read as one request. */
    @ParameterizedTest
    @MethodSource("ways")
    void entriesThatAreReadTogetherHaveReportsOfTheirOwn(Way way) {
        int parts = 40;
        GuardedFile file = newFile(parts * (256 << 10) + 13);
        try (CuFileHandle handle = openToRead(file, way.mode());
                GuardedMemory memory = memory(way.kind(), parts * (256 << 10) + PAGE);
                CuFileBatch batch = driver().batch(parts + 1)) {
            List<Request> requests = new ArrayList<>();
            for (int i = 0; i < parts; i++) {
                requests.add(reported(
                        Request.read(handle, memory.range(), 256 << 10, (256L << 10) * i, (256L << 10) * i)));
            }
            requests.add(reported(Request.read(
                    handle, memory.range(), PAGE, (256L << 10) * parts, (256L << 10) * parts)));
            for (int round = 0; round < 2; round++) {
                batch.transferAll(requests);
                for (int i = 0; i < parts; i++) {
                    assertReports(requests.get(i).report().orElseThrow(), 256 << 10, 256 << 10);
                }
                assertReports(requests.getLast().report().orElseThrow(), PAGE, 13);
            }
        }
    }

    private static Request reported(Request request) {
        return request.reportTo(new IoResult());
    }

    @Test
    void entriesThatMoveNothingReportNothing() {
        GuardedFile file = newFile(PART);
        IoResult first = new IoResult();
        IoResult second = new IoResult();
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED);
                GuardedMemory memory = memory(MemoryKind.HOST, PART)) {
            try (CuFileBatch batch = driver().batch(2)) {
                Request good = Request.read(handle, memory.range(), PART, 0, 0).reportTo(first);
                Request bad = Request.write(handle, memory.range(), PAGE, 0, 0).reportTo(second);
                Failures.expect(CuFileError.INVALID_FILE_OPEN_FLAG, () -> batch.submit(List.of(good, bad)));
                assertRefused(first, PART, CuFileError.INVALID_FILE_OPEN_FLAG);
                assertRefused(second, PAGE, CuFileError.INVALID_FILE_OPEN_FLAG);
                Failures.expect(CuFileError.INVALID_VALUE, () -> batch.submit(List.of(good, good)));
                Failures.expect(
                        CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                        () -> batch.submit(List.of(good, reported(good), reported(good))));
                assertRefused(first, PART, CuFileError.INTERNAL_BATCH_SUBMIT_ERROR);
                batch.submit(List.of(good));
                Failures.expect(CuFileError.INVALID_VALUE, () -> handle.read(memory.range(), PAGE, 0, 0, first));
            }
            assertThat(first.error()).hasValueSatisfying(e -> assertThat(e).hasMessageContaining("closed"));
            assertThat(first.isComplete()).isFalse();
            assertThat(handle.read(memory.range(), PAGE, 0, 0, first)).isEqualTo(PAGE);
            assertReports(first, PAGE, PAGE);
        }
    }

    private static List<Completion> all(CuFileBatch batch, int count) {
        List<Completion> done = new ArrayList<>();
        while (done.size() < count) {
            List<Completion> some = batch.await(1, LONG);
            assertThat(some).as("completions, %s of %s so far", done.size(), count).isNotEmpty();
            done.addAll(some);
        }
        assertThat(batch.await(0, Duration.ZERO)).as("more than were submitted").isEmpty();
        assertThat(batch.outstanding()).isZero();
        return done;
    }

    @Test
    void entriesMixFilesDirectionsAndKindsOfMemory() {
        List<MemoryKind> kinds = backend().kinds();
        List<GuardedFile> files = new ArrayList<>();
        List<GuardedMemory> memories = new ArrayList<>();
        List<CuFileHandle> handles = new ArrayList<>();
        try (CuFileBatch batch = driver().batch(Math.min(largestBatch(), 2 * kinds.size()))) {
            List<Request> requests = new ArrayList<>();
            for (int i = 0; i < 2 * kinds.size(); i++) {
                GuardedFile file = newFile(PART);
                GuardedMemory memory = memory(kinds.get(i % kinds.size()), PART);
                CuFileHandle handle = openToWrite(file, Mode.values()[i % 2]);
                files.add(file);
                memories.add(memory);
                handles.add(handle);
                boolean write = i >= kinds.size();
                if (write) {
                    memory.put(0, RandomBytes.of(i, PART));
                    file.expectWrite(0, memory.expected(0, PART));
                } else {
                    memory.expect(0, file.expected(0, PART));
                }
                requests.add(new Request(handle, write, memory.range(), PART, 0, 0));
            }
            assertThat(batch.transferAll(requests)).extracting(Completion::request).isEqualTo(requests);
        } finally {
            handles.forEach(CuFileHandle::close);
        }
        memories.forEach(GuardedMemory::verify);
        memories.forEach(GuardedMemory::close);
        files.forEach(GuardedFile::verify);
    }

    @ParameterizedTest
    @ValueSource(ints = {PAGE, 64 << 10, 1 << 20})
    void fullBatchOfAnySizeNeverHangs(int size) {
        int parts = 32;
        GuardedFile file = newFile(parts * PAGE + size);
        List<MemoryKind> kinds = size > PAGE ? backend().kinds().subList(0, 1) : backend().kinds();
        for (MemoryKind kind : kinds) {
            try (CuFileDriver driver = newDriver(backend().config().toBuilder()
                    .set(CuFileKeys.IO_BATCHSIZE, 256L)
                    .set(CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB, 262144L)
                    .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(64L))
                    .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(2L))
                    .build());
                    CuFileHandle handle = driver.openFile(file.path());
                    GuardedMemory memory =
                            GuardedMemory.allocate(driver.allocator(), kind, parts * PAGE + size);
                    CuFileBatch batch = driver.batch(256)) {
                List<Request> requests = new ArrayList<>();
                for (int i = 0; i < 256; i++) {
                    long at = (long) (i % parts) * PAGE;
                    requests.add(Request.read(handle, memory.range(), size, at, at));
                }
                batch.submit(requests);
                assertThat(all(batch, 256)).extracting(Completion::bytes).containsOnly((long) size);
                memory.expect(0, file.expected(0, (parts - 1) * PAGE + size));
                memory.verify();
            }
        }
    }

    @Test
    void addedRequestsAreSubmittedAndFillArrays() {
        GuardedFile file = newFile(2 * PAGE);
        byte[] array = new byte[3 * PAGE];
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(MemoryKind.HOST, PAGE);
                CuFileBatch batch = driver().batch()) {
            long read = driver().bytesRead();
            long written = driver().bytesWritten();
            batch.addRead(handle, array, 0);
            batch.submit();
            assertThat(batch.outstanding()).isEqualTo(1);
            assertThat(batch.await()).extracting(Completion::bytes).containsExactly(2L * PAGE);
            assertThat(array).startsWith(file.expected(0, 2 * PAGE)).endsWith(new byte[PAGE]);
            batch.addWrite(handle, memory.range(), PAGE, 0, 0);
            batch.submit();
            batch.await();
            assertThat(driver().bytesRead() - read).isEqualTo(2L * PAGE);
            assertThat(driver().bytesWritten() - written).isEqualTo(PAGE);
            Failures.expect(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, batch::submit);
        }
    }

    @Test
    void minimumCapacityAndTimeDecideWhenStatusReturns() {
        GuardedFile file = newFile(8 * PAGE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED);
                GuardedMemory memory = memory(backend().kinds().getFirst(), 8 * PAGE);
                CuFileBatch batch = driver().batch(8)) {
            assertThat(batch.await(0, Duration.ZERO)).isEmpty();
            assertThat(batch.await(8, LONG)).as("returns at once: no entry is outstanding").isEmpty();
            List<Request> requests = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                requests.add(Request.read(handle, memory.range(), PAGE, (long) i * PAGE, (long) i * PAGE));
            }
            batch.submit(requests);
            assertThat(batch.await(8, LONG)).hasSize(8);
            assertThat(batch.await(1, Duration.ZERO)).as("each is reported once").isEmpty();
        }
    }

    @Test
    void statusReturnsAtMostTheRequestedEvents() {
        CuFileBackend backend = backend().createBackend(backend().config());
        backend.driverOpen();
        GuardedFile file = newFile(PAGE);
        try (GuardedMemory memory = memory(MemoryKind.HOST, PAGE)) {
            BackendFile handle = backend.handleRegister(
                    FileSource.Named.of(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE));
            BackendBatch batch = backend.batchIoSetUp(4);
            assertThat(batch.capacity()).isEqualTo(4);
            backend.batchIoSubmit(batch, requests(handle, memory, 4), 0);
            Set<Long> cookies = new HashSet<>();
            for (int i = 0; i < 4; i++) {
                List<BatchEvent> one = backend.batchIoGetStatus(batch, 1, 1, Optional.empty());
                assertThat(one).hasSize(1);
                assertThat(one.getFirst().status()).isEqualTo(BatchStatus.COMPLETE);
                cookies.add(one.getFirst().cookie());
            }
            assertThat(cookies).containsExactlyInAnyOrder(100L, 101L, 102L, 103L);
            Failures.expect(CuFileError.INVALID_VALUE,
                    () -> backend.batchIoGetStatus(batch, 2, 1, Optional.empty()));
            backend.batchIoDestroy(batch);
            backend.batchIoDestroy(batch);
            backend.batchIoCancel(batch);
            Failures.expect(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                    () -> backend.batchIoSubmit(batch, requests(handle, memory, 1), 0));
            Failures.expect(CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR,
                    () -> backend.batchIoGetStatus(batch, 0, 1, Optional.empty()));
        } finally {
            backend.driverClose();
        }
    }

    private static List<BatchRequest> requests(BackendFile handle, GuardedMemory memory, int count) {
        List<BatchRequest> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(new BatchRequest(handle, Operation.READ, memory.range(), PAGE, 0, 0, 100 + i));
        }
        return requests;
    }

    @Test
    void refusedSubmissionSubmitsNothing() {
        CuFileBackend backend = backend().createBackend(backend().config());
        backend.driverOpen();
        GuardedFile file = newFile(PAGE);
        try (GuardedMemory memory = memory(MemoryKind.HOST, PAGE)) {
            BackendFile handle = backend.handleRegister(
                    FileSource.Named.of(file.path(), StandardOpenOption.READ));
            BackendBatch batch = backend.batchIoSetUp(4);
            List<BatchRequest> bad = new ArrayList<>(requests(handle, memory, 3));
            bad.add(new BatchRequest(handle, Operation.READ, memory.range(), PAGE, -1, 0, 7));
            List<BatchRequest> longer = new ArrayList<>(requests(handle, memory, 3));
            longer.add(new BatchRequest(handle, Operation.READ, memory.range(), PAGE + 1, 0, 0, 7));
            for (List<BatchRequest> refused : List.of(bad, longer, List.<BatchRequest>of(),
                    requests(handle, memory, 5))) {
                Failures.expect(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                        () -> backend.batchIoSubmit(batch, refused, 0));
            }
            assertThat(backend.batchIoGetStatus(batch, 0, 4, Optional.of(Duration.ofMillis(20)))).isEmpty();
            backend.batchIoSubmit(batch, requests(handle, memory, 4), 0);
            Failures.expect(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                    () -> backend.batchIoSubmit(batch, requests(handle, memory, 1), 0));
            assertThat(backend.batchIoGetStatus(batch, 4, 4, Optional.empty())).hasSize(4);
            backend.batchIoSubmit(batch, requests(handle, memory, 1), 0);
            backend.batchIoDestroy(batch);
        } finally {
            backend.driverClose();
        }
    }

    @Test
    void capacityOutsideTheConfigurationIsInvalid() {
        for (int capacity : new int[]{-1, 0, largestBatch() + 1}) {
            Failures.expect(CuFileError.INVALID_VALUE, () -> driver().batch(capacity));
        }
        driver().batch(largestBatch()).close();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void cancelledEntriesAreReportedAndOthersComplete(MemoryKind kind) {
        int size = 256 << 10;
        int count = Math.min(64, largestBatch());
        GuardedFile file = newFile(size);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED);
                GuardedMemory memory = memory(kind, size);
                CuFileBatch batch = driver().batch(count)) {
            List<Request> requests = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                requests.add(Request.read(handle, memory.range(), size, 0, 0));
            }
            batch.submit(requests);
            batch.cancel();
            long complete = 0;
            for (Completion completion : all(batch, count)) {
                assertThat(completion.status()).isIn(BatchStatus.COMPLETE, BatchStatus.CANCELED);
                if (completion.isComplete()) {
                    assertThat(completion.bytes()).isEqualTo(size);
                    complete++;
                } else {
                    Failures.expect(completion::bytes);
                }
            }
            memory.expect(0, complete > 0 ? file.expected(0, size) : memory.expected(0, size));
            memory.verify();
        }
    }

    @Test
    void closingABatchWaitsAndReleasesFilesAndMemory() {
        int size = 1 << 20;
        GuardedFile file = newFile(size);
        for (int round = 0; round < 5; round++) {
            try (CuFileHandle handle = openToRead(file, Mode.DIRECT);
                    GuardedMemory memory = memory(backend().kinds().getFirst(), size)) {
                CuFileBatch batch = driver().batch(16);
                List<Request> requests = new ArrayList<>();
                for (int i = 0; i < 16; i++) {
                    requests.add(Request.read(handle, memory.range(), size, 0, 0));
                }
                batch.submit(requests);
                batch.close();
                Failures.expect(
                        CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, () -> batch.submit(requests.subList(0, 1)));
            }
        }
    }

    @Test
    void driverClosesWithEntriesInFlight() {
        int size = 1 << 20;
        GuardedFile file = newFile(size);
        CuFileDriver driver = newDriver();
        try (GuardedMemory memory =
                GuardedMemory.allocate(driver.allocator(), backend().kinds().getFirst(), size)) {
            CuFileHandle handle = driver.openFile(file.path());
            CuFileBatch batch = driver.batch(32);
            List<Request> requests = new ArrayList<>();
            for (int i = 0; i < 32; i++) {
                requests.add(Request.read(handle, memory.range(), size, 0, 0));
            }
            batch.submit(requests);
            driver.close();
            assertThat(batch.isOpen()).isFalse();
        } finally {
            driver.close();
        }
    }

    @Test
    void everyFailedEntryIsListed() {
        GuardedFile file = newFile(4 * PAGE);
        try (CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
                GuardedMemory memory = memory(MemoryKind.HOST, 4 * PAGE);
                CuFileBatch batch = driver().batch(2)) {
            // The kernel refuses this file offset with EFBIG or EINVAL; other entries are not affected.
            long tooFar = Long.MAX_VALUE - 8 * PAGE;
            List<Request> requests = List.of(
                    Request.read(handle, memory.range(), PAGE, 0, 0),
                    Request.write(handle, memory.range(), PAGE, tooFar, PAGE),
                    Request.read(handle, memory.range(), PAGE, 2 * PAGE, 2 * PAGE),
                    Request.write(handle, memory.range(), PAGE, tooFar, 3 * PAGE));
            CuFileException failure = Failures.expect(() -> batch.transferAll(requests));
            assertThat(failure).isInstanceOf(CuFileBatchException.class).hasMessageContaining("2 of 4");
            List<Completion> failures = ((CuFileBatchException) failure).failures();
            assertThat(failures)
                    .extracting(Completion::request)
                    .containsExactly(requests.get(1), requests.get(3));
            assertThat(failures).extracting(Completion::status).containsOnly(BatchStatus.FAILED);
            assertThat(failures.getFirst().failure().orElseThrow().errno()).isPresent();
            assertThat(batch.outstanding()).isZero();
            memory.expect(0, file.expected(0, PAGE));
            memory.expect(2 * PAGE, file.expected(2 * PAGE, PAGE));
            memory.verify();
        }
        file.verify();
    }

    @Test
    void moreRequestsThanCapacityAreServedInTurn() {
        int count = 500;
        GuardedFile file = newFile(count * 64);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED);
                GuardedMemory memory = memory(backend().kinds().getFirst(), count * 64);
                CuFileBatch batch = driver().batch(7)) {
            List<Request> requests = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                requests.add(Request.read(handle, memory.range(), 64, i * 64L, i * 64L));
            }
            assertThat(batch.transferAll(requests)).extracting(Completion::request).isEqualTo(requests);
            memory.expect(0, file.expected(0, count * 64));
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void threadsShareABatchAndEachEntryIsReportedOnce(MemoryKind kind) {
        GuardedFile file = newFile(8 * PART);
        try (CuFileHandle handle = openToRead(file, Mode.DIRECT);
                GuardedMemory memory = memory(kind, 8 * PART);
                CuFileBatch batch = driver().batch(64)) {
            Crowd.run(8, member -> {
                List<Request> mine = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    mine.add(Request.read(handle, memory.range(), PART, (long) i * PART, (long) i * PART));
                }
                batch.submit(mine);
            });
            assertThat(all(batch, 64)).extracting(Completion::bytes).containsOnly((long) PART);
            memory.expect(0, file.expected(0, 8 * PART));
            memory.verify();
        }
    }

    @Test
    void everyCallAndEntryIsCounted() {
        assumeFalse(backend().unbuiltFunctions().contains("cuFileGetStatsL1"), "does not count");
        assumeFalse(diverges(Divergence.STATISTICS_OF_ONE_BACKEND), "STATISTICS_OF_ONE_BACKEND");
        GuardedFile file = newFile(4 * PAGE);
        try (CuFileDriver driver = newDriver();
                CuFileHandle handle =
                        driver.openFile(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
                GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), MemoryKind.HOST, 4 * PAGE)) {
            CuFileStatistics statistics = driver.statistics();
            statistics.setLevel(1);
            statistics.start();
            try (CuFileBatch batch = driver.batch(4)) {
                batch.transferAll(List.of(
                        Request.read(handle, memory.range(), PAGE, 0, 0),
                        Request.read(handle, memory.range(), PAGE, PAGE, PAGE),
                        Request.write(handle, memory.range(), 100, 0, 0)));
                batch.cancel();
            }
            StatisticsLevel1 counted = statistics.level1();
            assertThat(counted.batchSetUpOps()).isEqualTo(new OperationCount(1, 0));
            assertThat(counted.batchSubmitOps()).isEqualTo(new OperationCount(1, 0));
            assertThat(counted.batchCompleteOps().ok()).isPositive();
            assertThat(counted.batchCancelOps()).isEqualTo(new OperationCount(1, 0));
            assertThat(counted.batchDestroyOps()).isEqualTo(new OperationCount(1, 0));
            assertThat(counted.batchEnqueuedOps()).isEqualTo(new OperationCount(3, 0));
            assertThat(counted.batchProcessedOps()).isEqualTo(new OperationCount(3, 0));
            assertThat(counted.batchTotalSubmitOps()).isEqualTo(new OperationCount(3, 0));
            assertThat(counted.batchReadBytes()).isEqualTo(2 * PAGE);
            assertThat(counted.batchWriteBytes()).isEqualTo(100);
            assertThat(counted.lastBatchReadBytes()).isEqualTo(2 * PAGE);
            assertThat(counted.readOps()).as("calls of cuFileRead").isEqualTo(new OperationCount(0, 0));
        }
    }
}
