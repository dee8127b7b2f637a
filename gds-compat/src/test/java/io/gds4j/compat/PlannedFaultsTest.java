package io.gds4j.compat;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.StreamFlag;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.FaultInjectingBackend;
import io.gds4j.testkit.Gate;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Faults that the testkit plans for batches and streams of this backend. */
class PlannedFaultsTest {
    private static final int PART = 1000;

    private final FaultInjectingBackend backend =
            new FaultInjectingBackend(new CompatBackendProvider().create(CuFileConfig.defaults()));

    @TempDir
    Path directory;

    private CuFileDriver driver;
    private GuardedFile file;
    private GuardedMemory memory;
    private CuFileHandle handle;

    @BeforeEach
    void open() {
        driver = CuFileDriver.open(backend);
        file = GuardedFile.create(directory.resolve("file"), 4 * PART, 1);
        memory = GuardedMemory.allocate(driver.allocator(), MemoryKind.HOST, 4 * PART);
        handle = driver.openFile(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    @AfterEach
    void close() {
        handle.close();
        memory.close();
        driver.close();
    }

    private List<Request> reads(int count) {
        List<Request> requests = new ArrayList<>();
        for (int part = 0; part < count; part++) {
            requests.add(Request.read(handle, memory.range(), PART, part * (long) PART, part * (long) PART));
        }
        return requests;
    }

    @Test
    void onlyTheChosenEntryOfABatchFails() {
        backend.on(Call.BATCH_READ).nth(2).after(10).fails(Errno.EIO);
        try (CuFileBatch batch = driver.batch(4)) {
            List<Request> requests = reads(4);
            batch.submit(requests);
            List<Completion> done = batch.await(4, Duration.ofSeconds(60));
            assertThat(done).hasSize(4).filteredOn(Completion::isComplete).hasSize(3);
            Completion failed =
                    done.stream().filter(completion -> !completion.isComplete()).findFirst().orElseThrow();
            assertThat(failed.request()).isSameAs(requests.get(1));
            assertThat(failed.result()).isEqualTo(-Errno.EIO);
            assertThat(failed.failure()).map(CuFileException::error).contains(CuFileError.IO_ERROR);
            batch.submit(requests);
            assertThat(batch.await(4, Duration.ofSeconds(60))).allMatch(Completion::isComplete);
        }
        memory.expect(0, file.expected(0, 4 * PART));
        memory.verify();
        assertThat(backend.count(Call.BATCH_READ)).isEqualTo(8);
        backend.verify();
    }

    @Test
    void failedEntryMovesNoByteUnlessPlanned() {
        backend.on(Call.reads()).fails(CuFileError.GPU_MEMORY_PINNING_FAILED);
        try (CuFileBatch batch = driver.batch(1)) {
            batch.submit(reads(1));
            assertThat(batch.await(1, Duration.ofSeconds(60)))
                    .singleElement()
                    .satisfies(done -> assertThat(done.result())
                            .isEqualTo(-CuFileError.GPU_MEMORY_PINNING_FAILED.code()));
        }
        memory.verify();
    }

    /** Cells for a transfer of one part at the beginning of file and memory. */
    private static CuFileStream.Cells cells(long size) {
        MemorySegment cells = Arena.ofAuto().allocate(JAVA_LONG, 4);
        cells.set(JAVA_LONG, 0, size);
        return new CuFileStream.Cells(
                cells.asSlice(0, 8), cells.asSlice(8, 8), cells.asSlice(16, 8), cells.asSlice(24, 8));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void streamReportsTheFailureInOrder(boolean fixed) throws InterruptedException {
        backend.on(Call.STREAM_WRITE).after(10).fails(Errno.ENOSPC);
        Set<StreamFlag> flags =
                fixed ? EnumSet.of(StreamFlag.FIXED_FILE_SIZE) : EnumSet.noneOf(StreamFlag.class);
        List<Long> seen = new ArrayList<>();
        CuFileStream.Cells first = cells(fixed ? PART : 0);
        CuFileStream.Cells second = cells(PART);
        try (HostStream stream = HostStream.create();
                CuFileStream ordered = driver.stream(stream.address(), flags)) {
            stream.enqueue(() -> first.size().set(JAVA_LONG, 0, PART));
            ordered.write(handle, memory.range(), first);
            stream.enqueue(() -> seen.add(first.bytesDone()));
            ordered.write(handle, memory.range(), second);
            stream.enqueue(() -> seen.add(second.bytesDone()));
            stream.synchronize();
        }
        assertThat(seen).containsExactly((long) -Errno.ENOSPC, (long) PART);
        assertThat(first.size().get(JAVA_LONG, 0)).isEqualTo(PART);
        file.expectWrite(0, memory.expected(0, PART));
        file.verify();
    }

    @Test
    void heldStreamOperationHoldsTheStreamOnly() throws InterruptedException {
        Gate gate = backend.on(Call.STREAM_READ).holds();
        CuFileStream.Cells cells = cells(PART);
        try (HostStream stream = HostStream.create();
                CuFileStream ordered = driver.stream(stream.address(), Set.of())) {
            ordered.read(handle, memory.range(), cells);
            gate.awaitArrival();
            memory.verify();
            gate.open();
            stream.synchronize();
        }
        assertThat(cells.bytesDone()).isEqualTo(PART);
        memory.expect(0, file.expected(0, PART));
        memory.verify();
    }

    @Test
    void allocationsOfPinnedMemoryFailAsPlanned() {
        backend.on(Call.ALLOCATE).fails(Errno.ENOMEM);
        try (Arena arena = Arena.ofShared()) {
            MemorySegment segment = arena.allocate(4096, 4096);
            assertThat(catchThrowable(() -> driver.allocator().pin(segment)))
                    .isInstanceOf(CuFileException.class)
                    .hasMessageContaining("MemoryAllocator.pin");
        }
        backend.verify();
    }
}
