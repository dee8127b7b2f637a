package io.gds4j.libcufile.batch;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.libcufile.FakeMachine;
import io.gds4j.libcufile.SessionRig;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.process.LibrarySettings;
import io.gds4j.libcufile.process.LibraryUser;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Entries of the library's own batch have a slot until the library delivers their events. */
class BatchSlotsTest extends SessionRig {
    private static final int PAGE = 4096;
    private static final int CAPACITY = 4;

    private final List<String> outcomes = new ArrayList<>();
    private OpenLibrary openLibrary;
    private BatchSlots slots;
    private LibraryFile file;
    private MemoryAllocation memory;

    @Override
    protected FakeMachine machine() {
        return new FakeMachine().withDirectStorage();
    }

    /** Joins the open library for the test itself. */
    private final LibraryUser user = new LibraryUser() {
        @Override
        public boolean isBusy() {
            return false;
        }

        @Override
        public void cancelBatches() {
            // has none
        }

        @Override
        public void releaseStreams() {
            // has none
        }

        @Override
        public void closeBatches() {
            // has none
        }
    };

    @BeforeEach
    void join() {
        openLibrary = machine.process.open(
                user,
                LibrarySettings.of(CuFileConfig.defaults(), Map.of()),
                machine.cuda.available().contexts());
        machine.process.close(user);
        slots = new BatchSlots(openLibrary, machine.cuda, CAPACITY);
        BackendFile registered = file();
        file = (LibraryFile) registered;
        memory = allocate(MemoryKind.CUDA_DEVICE, 1 << 20);
    }

    private BatchEntry entry(int number) {
        BatchRequest request =
                new BatchRequest(file, false, memory.range(), PAGE, number * (long) PAGE, number * (long) PAGE, number);
        long context = machine.cuda.available().contexts().contextOf(memory.range().address(), 0);
        return new BatchEntry(file, request, PAGE, 0, 0, context, 0);
    }

    private void reap() {
        slots.reap(
                0,
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
}
