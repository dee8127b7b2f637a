package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.time.Duration;
import java.util.AbstractList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(120)
class CuFileBatchTest {
    private static final MemoryRange MEMORY = MemoryRange.ofAddress(1 << 20, 4096, MemoryKind.HOST);

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("unknown batch entry");

    private final RecordingBackend backend = new RecordingBackend();
    private final CuFileDriver driver = CuFileDriver.open(backend);
    private final CuFileHandle handle = driver.openFile(Path.of("/data/a"));
    private final CuFileBatch batch = driver.batch(4);

    @AfterEach
    void close() {
        driver.close();
    }

    @Test
    void completionsReturnTheirRequests() {
        Request first = Request.read(handle, MEMORY, 8, 0, 0);
        Request second = Request.write(handle, MEMORY, 16, 100, 1);
        batch.submit(List.of(first, second));
        assertThat(batch.outstanding()).isEqualTo(2);

        List<Completion> done = batch.await(2, Duration.ZERO);

        assertThat(done).extracting(Completion::request).containsExactly(first, second);
        assertThat(done).extracting(Completion::bytes).containsExactly(8L, 16L);
        assertThat(done).allMatch(Completion::isComplete);
        assertThat(batch.outstanding()).isZero();
        assertThat(batch.await(2, Duration.ZERO)).isEmpty();
    }

    @Test
    void awaitOfATimeTakesAllOutstanding() {
        batch.submit(List.of(Request.read(handle, MEMORY, 8, 0, 0), Request.write(handle, MEMORY, 16, 100, 1)));

        assertThat(batch.await(Duration.ofSeconds(10))).extracting(Completion::bytes).containsExactly(8L, 16L);
        assertThat(batch.await(Duration.ZERO)).isEmpty();
        assertThat(catchThrowableOfType(CuFileException.class, () -> batch.await(Duration.ofMillis(-1))).error())
                .isEqualTo(CuFileError.INVALID_VALUE);
    }

    @Test
    void awaitLimitsMinimumToOutstanding() {
        batch.submit(List.of(Request.read(handle, MEMORY, 8, 0, 0)));
        batch.await(4, Duration.ofSeconds(5));
        batch.await(4, Duration.ofSeconds(5));

        assertThat(backend.callsOf("batchIoGetStatus")).containsExactly("batchIoGetStatus 1", "batchIoGetStatus 0");
    }

    @Test
    void submitAcceptsAllRequestsOrNone() {
        Request good = Request.read(handle, MEMORY, 8, 0, 0);
        Request bad = Request.read(handle, MEMORY, 5000, 4096, 0);

        CuFileException e = failure(() -> batch.submit(List.of(good, bad)));

        assertThat(e)
                .hasMessage("cuFileBatchIOSubmit: buffer offset 0 and size 5000 reach past 4096 bytes of memory,"
                        + " file=/data/a, offset=4096, size=5000 (CU_FILE_CUDA_POINTER_RANGE_ERROR 5014)");
        assertThat(batch.outstanding()).isZero();
        assertThat(backend.callsOf("batchIoSubmit")).isEmpty();
        batch.submit(List.of(good, good, good, good));
    }

    static Stream<Arguments> badRequests() {
        MemoryRange shared = MemoryRange.ofSegment(Arena.ofShared().allocate(8));
        return Stream.of(
                Arguments.of(CuFileError.INVALID_VALUE, MEMORY, -1L, 0L, 0L),
                Arguments.of(CuFileError.INVALID_VALUE, MEMORY, 1L, -1L, 0L),
                Arguments.of(CuFileError.INVALID_VALUE, MEMORY, 1L, 0L, -1L),
                Arguments.of(CuFileError.INVALID_VALUE, MEMORY, 1L, Long.MAX_VALUE, 0L),
                Arguments.of(CuFileError.CUDA_POINTER_RANGE_ERROR, MEMORY, 1L, 0L, 4096L),
                Arguments.of(CuFileError.CUDA_MEMORY_TYPE_INVALID, shared, 8L, 0L, 0L));
    }

    @ParameterizedTest
    @MethodSource("badRequests")
    void invalidRequestFailsLikeRead(
            CuFileError code, MemoryRange memory, long size, long fileOffset, long bufferOffset) {
        CuFileException e =
                failure(() -> batch.submit(List.of(Request.read(handle, memory, size, fileOffset, bufferOffset))));

        assertThat(e.error()).isEqualTo(code);
        assertThat(e.function()).isEqualTo("cuFileBatchIOSubmit");
        assertThat(e.path()).contains(Path.of("/data/a"));
        assertThat(batch.outstanding()).isZero();
    }

    @Test
    void submitChecksRights() {
        backend.writable = false;

        assertThat(failure(() -> batch.submit(List.of(Request.write(handle, MEMORY, 8, 0, 0)))).error())
                .isEqualTo(CuFileError.INVALID_FILE_OPEN_FLAG);
        batch.submit(List.of(Request.read(handle, MEMORY, 8, 0, 0)));
    }

    @Test
    void emptyAndTooLongListsAreRefused() {
        Request one = Request.read(handle, MEMORY, 8, 0, 0);
        batch.submit(List.of(one, one, one));

        assertThat(failure(() -> batch.submit(List.of())).error())
                .isEqualTo(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR);
        CuFileException full = failure(() -> batch.submit(List.of(one, one)));
        assertThat(full.error()).isEqualTo(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR);
        assertThat(full.detail()).isEqualTo("2 requests where 3 of 4 are outstanding");
        batch.submit(List.of(one));
        batch.await(4, Duration.ZERO);
        batch.submit(List.of(one, one, one, one));
    }

    @Test
    void refusedEntriesAreNotOutstanding() {
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 64);
        backend.during("batchIoSubmit", () -> {
            throw CuFileException.of(CuFileError.BATCH_FULL, "cuFileBatchIOSubmit", "no");
        });

        assertThat(failure(() -> batch.submit(List.of(Request.read(handle, memory.range(), 8, 0, 0)))).error())
                .isEqualTo(CuFileError.BATCH_FULL);
        assertThat(batch.outstanding()).isZero();
        memory.close();
        handle.close();
    }

    @Test
    void outstandingEntryKeepsFileAndMemoryOpen() {
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 64);
        CuFileBuffer buffer = driver.registerBuffer(MEMORY);
        batch.submit(List.of(
                Request.read(handle, memory.range(), 8, 0, 0), Request.read(handle, buffer, 8, 0, 0)));

        for (ThrowingCallable close : List.<ThrowingCallable>of(handle::close, buffer::close, memory::close)) {
            CuFileException e = failure(close);
            assertThat(e.error()).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
            assertThat(e.errno()).hasValue(Errno.EBUSY);
        }
        batch.await(2, Duration.ZERO);

        buffer.close();
        memory.close();
        handle.close();
        assertThat(backend.callsOf("free")).hasSize(1);
    }

    @Test
    void closeReleasesEntries() {
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 64);
        batch.submit(List.of(Request.read(handle, memory.range(), 8, 0, 0)));

        batch.close();

        assertThat(batch.isOpen()).isFalse();
        assertThat(batch.capacity()).isEqualTo(4);
        memory.close();
        handle.close();
        assertThat(backend.callsOf("batchIoDestroy", "free", "handleDeregister"))
                .containsExactly("batchIoDestroy", "free 64", "handleDeregister /data/a");
    }

    @Test
    void failedDestroyReleasesEntries() {
        batch.submit(List.of(Request.read(handle, MEMORY, 8, 0, 0)));
        backend.during("batchIoDestroy", () -> {
            throw new IllegalStateException("no");
        });

        assertThatThrownBy(batch::close).isInstanceOf(IllegalStateException.class);
        handle.close();
    }

    /** A backend may wait inside submit for room, which another thread makes by taking completions. */
    @Test
    void awaitWorksWhileSubmissionWaits() throws Exception {
        Request one = Request.read(handle, MEMORY, 8, 0, 0);
        batch.submit(List.of(one));
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch resume = new CountDownLatch(1);
        backend.during("batchIoSubmit", () -> {
            inside.countDown();
            try {
                resume.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        try (Threads threads = new Threads()) {
            Future<Void> submitted = threads.run(() -> batch.submit(List.of(one)));
            inside.await();

            assertThat(batch.await(1, Duration.ZERO)).hasSize(1);
            resume.countDown();
            submitted.get(60, TimeUnit.SECONDS);
        }
        assertThat(batch.await(1, Duration.ZERO)).hasSize(1);
    }

    @Test
    void unknownEventDoesNotLoseOthers() {
        backend.events.add(new BatchEvent(99, BatchStatus.COMPLETE, 1));
        batch.submit(List.of(Request.read(handle, MEMORY, 8, 0, 0)));

        assertThat(batch.await(1, Duration.ZERO)).hasSize(1);
        assertThat(logged.lines()).singleElement().asString().startsWith("SEVERE ").contains("cookie=99");
    }

    /** A list whose elements need two attempts each, as while the heap is exhausted. */
    private static final class ScarceList extends AbstractList<BatchEvent> {
        private final List<BatchEvent> events;
        private int attempts;

        ScarceList(List<BatchEvent> events) {
            this.events = events;
        }

        @Override
        public BatchEvent get(int index) {
            if (attempts++ % 2 == 0) {
                throw new OutOfMemoryError("heap");
            }
            return events.get(index);
        }

        @Override
        public int size() {
            return events.size();
        }
    }

    @Test
    void exhaustedHeapLosesNoCompletion() {
        Request one = Request.read(handle, MEMORY, 8, 0, 0);
        BatchLedger ledger = new BatchLedger(driver.session(), 4);
        List<BatchEvent> first = ledger.enter(List.of(one)).stream()
                .map(entry -> new BatchEvent(entry.cookie(), BatchStatus.COMPLETE, 8))
                .toList();
        List<BatchEvent> second = ledger.enter(List.of(one, one)).stream()
                .map(entry -> new BatchEvent(entry.cookie(), BatchStatus.FAILED, -5))
                .toList();

        assertThatThrownBy(() -> ledger.complete(new ScarceList(first))).isInstanceOf(OutOfMemoryError.class);
        assertThat(ledger.outstanding()).isEqualTo(3);
        assertThat(ledger.awaited()).isEqualTo(2);

        assertThat(ledger.complete(second)).extracting(Completion::result).containsExactly(8L, -5L, -5L);
        assertThat(ledger.outstanding()).isZero();
        assertThat(ledger.awaited()).isZero();
        handle.close();
    }

    @Test
    void slotsAreReused() {
        Request one = Request.read(handle, MEMORY, 8, 0, 0);
        Set<Long> cookies = new HashSet<>();
        BatchLedger ledger = new BatchLedger(driver.session(), 3);
        for (int i = 0; i < 10; i++) {
            List<BatchRequest> entered = ledger.enter(List.of(one, one, one));
            entered.forEach(entry -> assertThat(cookies.add(entry.cookie())).isTrue());
            ledger.remove(entered.subList(0, 1));
            assertThat(ledger.complete(List.of(
                    new BatchEvent(entered.get(2).cookie(), BatchStatus.COMPLETE, 1),
                    new BatchEvent(entered.get(2).cookie(), BatchStatus.COMPLETE, 1)))).hasSize(1);
            assertThat(ledger.outstanding()).isEqualTo(1);
            ledger.removeAll();
            assertThat(ledger.outstanding()).isZero();
        }
        assertThat(logged.lines()).hasSize(10);
        handle.close();
    }

    @Test
    void transferAllFailsIfAnotherThreadTakesCompletions() {
        CountDownLatch submitted = new CountDownLatch(1);
        backend.during("batchIoGetStatus", () -> {
            if (submitted.getCount() > 0) {
                // transferAll has submitted, and another caller takes its completions first.
                submitted.countDown();
                assertThat(batch.await(4, Duration.ZERO)).hasSize(4);
            }
        });
        List<Request> requests = Collections.nCopies(6, Request.read(handle, MEMORY, 8, 0, 0));

        CuFileException e = failure(() -> batch.transferAll(requests));

        assertThat(e.error()).isEqualTo(CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR);
        assertThat(e.detail()).isEqualTo("another thread took 4 completions of transferAll");
        assertThat(batch.outstanding()).isZero();
        handle.close();
    }

    @Test
    void handleOfAnotherSessionIsRefused() {
        try (CuFileDriver other = CuFileDriver.open(new RecordingBackend())) {
            CuFileHandle foreign = other.openFile(Path.of("b"));

            assertThat(failure(() -> batch.submit(List.of(Request.read(foreign, MEMORY, 8, 0, 0)))).error())
                    .isEqualTo(CuFileError.HANDLE_NOT_REGISTERED);
        }
    }

    @ParameterizedTest
    @CsvSource({"-1", "5", "2147483647", "-2147483648"})
    void minimumOutsideCapacityIsRefused(int minimum) {
        assertThat(failure(() -> batch.await(minimum, Duration.ZERO)).error()).isEqualTo(CuFileError.INVALID_VALUE);
    }

    @Test
    void negativeTimeoutIsRefused() {
        assertThat(failure(() -> batch.await(0, Duration.ofNanos(-1))).error()).isEqualTo(CuFileError.INVALID_VALUE);
    }

    @ParameterizedTest
    @CsvSource({"0", "-1", "-2147483648"})
    void capacityBelowOneIsRefused(int capacity) {
        assertThat(failure(() -> driver.batch(capacity)).error()).isEqualTo(CuFileError.INVALID_VALUE);
    }

    static Stream<Arguments> failedOutcomes() {
        return Stream.of(
                Arguments.of(BatchStatus.FAILED, -5L, CuFileError.IO_ERROR, Errno.EIO),
                Arguments.of(BatchStatus.FAILED, -27L, CuFileError.IO_ERROR, Errno.EFBIG),
                Arguments.of(BatchStatus.FAILED, -5017L, CuFileError.INVALID_MAPPING_RANGE, 0),
                Arguments.of(BatchStatus.FAILED, -5021L, CuFileError.IO_ERROR, 0),
                Arguments.of(BatchStatus.FAILED, 0L, CuFileError.IO_ERROR, 0),
                Arguments.of(BatchStatus.FAILED, Long.MIN_VALUE, CuFileError.IO_ERROR, 0),
                Arguments.of(BatchStatus.COMPLETE, -5L, CuFileError.IO_ERROR, Errno.EIO),
                Arguments.of(BatchStatus.CANCELED, 0L, CuFileError.IO_ERROR, Errno.ECANCELED),
                Arguments.of(BatchStatus.TIMEOUT, 0L, CuFileError.IO_ERROR, Errno.ETIMEDOUT),
                Arguments.of(BatchStatus.INVALID, 0L, CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, 0));
    }

    @ParameterizedTest
    @MethodSource("failedOutcomes")
    void bytesOfFailedEntryThrows(BatchStatus status, long result, CuFileError code, int errno) {
        Completion completion = new Completion(Request.write(handle, MEMORY, 8, 4096, 0), status, result);

        assertThat(completion.isComplete()).isFalse();
        CuFileException e = failure(completion::bytes);
        assertThat(e.error()).isEqualTo(code);
        assertThat(e.errno().orElse(0)).isEqualTo(errno);
        assertThat(e.function()).isEqualTo("cuFileWrite");
        assertThat(e.fileOffset()).hasValue(4096);
        assertThat(e.detail()).isEqualTo("batch entry " + status);
        assertThat(completion.failure()).isPresent();
    }

    private static CuFileException failure(ThrowingCallable call) {
        return catchThrowableOfType(CuFileException.class, call);
    }
}
