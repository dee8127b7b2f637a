package io.gds4j.libcufile.batch;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.libcufile.FakeMachine;
import io.gds4j.libcufile.SessionRig;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.Operation;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Entries of the library's own batch have a slot until the library delivers their events. */
class BatchSlotsTest extends SessionRig {
    private static final int PAGE = 4096;
    private static final int CAPACITY = 4;

    private final List<String> outcomes = new ArrayList<>();
    private BatchSlots slots;
    private LibraryFile file;
    private MemoryAllocation memory;

    /** Waits that the library was asked for: the fewest events, seconds, nanoseconds. */
    private List<String> waits;

    /** Events that the library answers in place of its own. */
    private Deque<Event> answers;
    private long now;

    private record Event(long cookie, int status, long result) {
    }

    @Override
    protected FakeMachine machine() {
        waits = new ArrayList<>();
        answers = new ArrayDeque<>();
        return new FakeMachine(new FakeCuda(), false, FfmPosix.instance(), this::answering).withDirectStorage();
    }

    private CuFileLibrary answering(CuFileLibrary library) {
        return (CuFileLibrary) Proxy.newProxyInstance(
                CuFileLibrary.class.getClassLoader(), new Class<?>[]{CuFileLibrary.class}, (proxy, call, arguments) -> {
                    if (call.getName().equals("batchIoGetStatus")) {
                        MemorySegment limit = (MemorySegment) arguments[4];
                        waits.add("%s %s %s".formatted(
                                arguments[1], limit.getAtIndex(JAVA_LONG, 0), limit.getAtIndex(JAVA_LONG, 1)));
                        if (!answers.isEmpty()) {
                            answer((MemorySegment) arguments[2], (MemorySegment) arguments[3], answers.remove());
                            return null;
                        }
                    }
                    try {
                        return call.invoke(library, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private static void answer(MemorySegment count, MemorySegment events, Event event) {
        count.set(JAVA_INT, 0, 1);
        events.set(JAVA_LONG, 0, event.cookie);
        events.set(JAVA_INT, 8, event.status);
        events.set(JAVA_LONG, 16, event.result);
    }

    @BeforeEach
    void join() {
        slots = new BatchSlots(openLibrary(), machine.cuda, CAPACITY, () -> now);
        BackendFile registered = file();
        file = (LibraryFile) registered;
        memory = allocate(MemoryKind.CUDA_DEVICE, 1 << 20);
    }

    private BatchEntry entry(int number) {
        BatchRequest request =
                new BatchRequest(file, Operation.READ, memory.range(), PAGE, number * (long) PAGE, number * (long) PAGE,
                        number);
        long context = machine.cuda.available().contexts().contextOf(memory.range().address(), 0);
        return new BatchEntry(file, request, PAGE, 0, 0, context, 0);
    }

    private void reap() {
        reap(0);
    }

    private void reap(long nanos) {
        slots.reap(
                nanos,
                (entry, status, moved) -> outcomes.add(entry.request().cookie() + " " + status + " " + moved),
                lost -> outcomes.add(lost.request().cookie() + " lost"));
    }

    @Test
    void batchIsMadeForTheFirstEntryOnly() {
        assertThat(fake.batches().open()).isZero();
        slots.submit(List.of(entry(0)));
        slots.submit(List.of(entry(1)));
        assertThat(fake.callsOf("cuFileBatchIOSetUp")).hasSize(1);
        reap();
        slots.destroy();
    }

    @Test
    void entryKeepsItsSlotUntilItsEventIsTaken() {
        slots.submit(List.of(entry(0), entry(1), entry(2)));
        assertThat(slots.taken()).isEqualTo(3);
        assertThat(slots.inside()).extracting(entry -> entry.request().cookie()).containsExactly(0L, 1L, 2L);
        reap();
        assertThat(outcomes).containsExactlyInAnyOrder("0 COMPLETE 4096", "1 COMPLETE 4096", "2 COMPLETE 4096");
        assertThat(slots.taken()).isZero();
        assertThat(bytes(memory, 0, 3 * PAGE)).isEqualTo(expected(0, 3 * PAGE));
        slots.destroy();
    }

    @Test
    void slotsAreUsedAgain() {
        for (int round = 0; round < 5; round++) {
            slots.submit(List.of(entry(0), entry(1), entry(2), entry(3)));
            assertThat(slots.taken()).isEqualTo(CAPACITY);
            reap();
        }
        assertThat(outcomes).hasSize(5 * CAPACITY);
        slots.destroy();
    }

    @Test
    void refusedSubmissionTakesNoSlot() {
        fake.batches().refuseSubmits(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR.code());
        expect(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, () -> slots.submit(List.of(entry(0), entry(1))));
        assertThat(slots.taken()).isZero();
        fake.batches().refuseSubmits(0);
        slots.submit(List.of(entry(2)));
        reap();
        assertThat(outcomes).containsExactly("2 COMPLETE 4096");
        slots.destroy();
    }

    @Test
    void failedEntryHasTheNegativeErrno() {
        fake.batches().failEntries(5);
        slots.submit(List.of(entry(0)));
        reap();
        assertThat(outcomes).containsExactly("0 " + BatchStatus.FAILED + " -5");
        slots.destroy();
    }

    @Test
    void nothingToReapAsksNothing() {
        reap();
        assertThat(fake.calls()).noneMatch(call -> call.contains("Batch"));
        slots.destroy();
        assertThat(fake.callsOf("cuFileBatchIODestroy")).isEmpty();
    }

    /** What a library reports of an entry of a page, and what the program is told. */
    @ParameterizedTest
    @CsvSource({"0x10, 4096, COMPLETE 4096", "0x10, 0, COMPLETE 0", "0x10, -1, FAILED -5", "0x10, 4097, FAILED -4097",
            "0x08, 0, CANCELED -125", "0x04, 0, INVALID -5022", "0x40, 0, FAILED -5", "0x40, -28, FAILED -28",
            "0x20, 7, TIMEOUT -5", "0x80, 7, FAILED -5", "0, 7, FAILED -5"})
    void everyReportHasItsMeaning(String status, long result, String told) {
        slots.submit(List.of(entry(0)));
        answers.add(new Event(0, Integer.decode(status), result));
        reap();
        assertThat(outcomes).containsExactly("0 " + told);
        assertThat(slots.taken()).isZero();
        destroyWithoutOwnEvents();
    }

    /** Has the library forget entries that the slots have given up. */
    private void destroyWithoutOwnEvents() {
        fake.batches().refuseAndLose(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR.code());
        expect(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, () -> slots.submit(List.of(entry(3))));
        slots.destroy();
    }

    @ParameterizedTest
    @CsvSource({"-1, 16", "1, 16", "4, 16", "5, 16", "0, 1", "0, 2"})
    void reportsOfNoEntryOrOfNoEndChangeNothing(long cookie, int status) {
        slots.submit(List.of(entry(0)));
        answers.add(new Event(cookie, status, PAGE));
        reap();
        assertThat(outcomes).isEmpty();
        assertThat(slots.taken()).isOne();
        reap();
        assertThat(outcomes).containsExactly("0 COMPLETE 4096");
        slots.destroy();
    }

    @Test
    void theLibraryWaitsForOneEventAsLongAsIsAsked() {
        slots.submit(List.of(entry(0)));
        answers.add(new Event(-1, 16, 0));
        reap(1_500_000_000);
        answers.add(new Event(-1, 16, 0));
        reap(0);
        assertThat(waits).containsExactly("1 1 500000000", "0 0 0");
        reap();
        slots.destroy();
    }

    /** Submits one more entry, which the library refuses. */
    private void refuseOne() {
        fake.batches().refuseSubmits(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR.code());
        expect(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, () -> slots.submit(List.of(entry(3))));
        fake.batches().refuseSubmits(0);
    }

    private void reapAt(long nanos) {
        now = nanos;
        reap();
    }

    @Test
    void entriesAreLostTwoSecondsAfterARefusalOrTheLastEvent() {
        now = 77;
        fake.batches().hold();
        slots.submit(List.of(entry(0), entry(1), entry(2)));
        refuseOne();
        reapAt(77 + 2_000_000_000L);
        assertThat(outcomes).isEmpty();
        answers.add(new Event(1, BatchStatus.COMPLETE.value(), PAGE));
        reapAt(78 + 2_000_000_000L);
        assertThat(outcomes).containsExactly("1 COMPLETE 4096");
        reapAt(78 + 4_000_000_000L);
        assertThat(slots.taken()).isEqualTo(2);
        reapAt(79 + 4_000_000_000L);
        assertThat(outcomes).containsExactly("1 COMPLETE 4096", "0 lost", "2 lost");
        assertThat(slots.taken()).isZero();
        assertThat(slots.inside()).isEmpty();
        destroyWithoutOwnEvents();
    }

    @Test
    void entriesThatComeAfterADoubtAreNotLost() {
        refuseOne(); // loses nothing, as nothing is inside
        now = 10_000_000_000L;
        fake.batches().hold();
        slots.submit(List.of(entry(0)));
        reap();
        refuseOne();
        fake.batches().release();
        reap(); // all that was inside has come
        fake.batches().hold();
        slots.submit(List.of(entry(1)));
        reapAt(20_000_000_000L);
        assertThat(outcomes).containsExactly("0 COMPLETE 4096");
        fake.batches().release();
        reap();
        assertThat(outcomes).containsExactly("0 COMPLETE 4096", "1 COMPLETE 4096");
        slots.destroy();
    }

    @Test
    void memoryIsFreedWithTheBatch() {
        slots.destroy();
        assertThatThrownBy(() -> slots.submit(List.of(entry(0)))).isInstanceOf(IllegalStateException.class);
    }
}
