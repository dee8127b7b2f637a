package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.CuFileStream.Cells;
import io.gds4j.HostStream;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class FakeStreamTest {
    private static final int SIZE = 10_000;

    private final FakeGpu gpu = FakeGpu.create();
    private final FaultInjectingBackend faults = new FaultInjectingBackend(gpu.backend());

    @TempDir
    Path directory;

    private CuFileDriver driver;
    private GuardedFile file;
    private CuFileHandle handle;
    private MemoryAllocation memory;
    private FakeStream stream;
    private CuFileStream ordered;

    @BeforeEach
    void open() {
        driver = CuFileDriver.open(faults);
        file = GuardedFile.create(directory.resolve("file"), SIZE, 1);
        handle = driver.openFile(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
        memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE);
        stream = gpu.newStream();
        ordered = driver.stream(stream.address(), Set.of());
    }

    @AfterEach
    void close() {
        driver.close();
        memory.close();
        stream.close();
    }

    private byte[] bytes() {
        return gpu.segment(memory.range()).toArray(ValueLayout.JAVA_BYTE);
    }

    @Test
    void nothingMovesBeforeTheProgramWaits() {
        byte[] before = bytes();
        Cells cells = Cells.of(SIZE, 0, 0);
        ordered.read(handle, memory, cells);
        byte[] early = new byte[SIZE];
        driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(early));
        assertThat(early).as("a copy that does not wait for the stream").isEqualTo(before);
        assertThat(cells.bytesDone()).isZero();
        stream.synchronize();
        assertThat(cells.bytesDone()).isEqualTo(SIZE);
        assertThat(bytes()).isEqualTo(file.expected(0, SIZE));
    }

    @Test
    void reusedCellsSpoilTheOperationBefore() {
        Cells cells = Cells.of(100, 0, 0);
        ordered.read(handle, memory, cells);
        cells.fileOffset().set(ValueLayout.JAVA_LONG, 0, 500);
        ordered.read(handle, memory, cells);
        stream.synchronize();
        assertThat(gpu.segment(memory.range().slice(0, 100)).toArray(ValueLayout.JAVA_BYTE))
                .isEqualTo(file.expected(500, 100));
    }

    @Test
    void freedCellsAreNamed() {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment cells = arena.allocateFrom(ValueLayout.JAVA_LONG, SIZE, 0, 0, 0);
            ordered.read(handle, memory, new Cells(
                    cells.asSlice(0, 8), cells.asSlice(8, 8), cells.asSlice(16, 8), cells.asSlice(24, 8)));
        }
        stream.synchronize();
        assertThat(gpu.misuse()).isNotEmpty().first().asString()
                .contains("a cell of a stream operation was freed")
                .contains("FakeStreamTest.freedCellsAreNamed");
    }

    @Test
    void eventsOrderStreams() {
        List<String> order = new ArrayList<>();
        try (FakeStream other = gpu.newStream();
                FakeStream unrelated = gpu.newStream()) {
            ordered.read(handle, memory, Cells.of(SIZE, 0, 0));
            stream.enqueue(() -> order.add("first"));
            FakeEvent event = stream.record();
            stream.enqueue(() -> order.add("behind the event"));
            unrelated.enqueue(() -> order.add("unrelated"));
            other.waitFor(event);
            other.enqueue(() -> order.add("after " + gpu.segment(memory.range()).get(ValueLayout.JAVA_BYTE, 0)));
            assertThat(event.isDone()).isFalse();
            other.synchronize();
            assertThat(event.isDone()).isTrue();
            assertThat(order).containsExactly("first", "after " + file.expected(0, 1)[0]);
            event.synchronize();
            gpu.synchronize();
            assertThat(order).hasSize(4);
        }
    }

    @Test
    void pollingAStreamEnds() {
        for (int i = 0; i < 3; i++) {
            stream.enqueue(() -> {
            });
        }
        assertThat(stream.isIdle()).isFalse();
        assertThat(stream.isIdle()).isFalse();
        assertThat(stream.isIdle()).isTrue();
    }

    @Test
    void closingWhatAnOperationUsesRunsIt() {
        Cells first = Cells.of(SIZE, 0, 0);
        Cells second = Cells.of(100, 0, 0);
        Cells third = Cells.of(100, 0, 0);
        ordered.read(handle, memory, first);
        memory.close();
        assertThat(first.bytesDone()).as("memory").isEqualTo(SIZE);
        try (MemoryAllocation more = driver.allocator().allocate(MemoryKind.CUDA_POOL, 100)) {
            ordered.read(handle, more, second);
            handle.close();
            assertThat(second.bytesDone()).as("file").isEqualTo(100);
            handle = driver.openFile(file.path());
            ordered.read(handle, more, third);
            ordered.close();
            assertThat(third.bytesDone()).as("stream").isEqualTo(100);
        }
    }

    @Test
    void workCannotCloseWhatLaterWorkUses() {
        List<CuFileError> errors = new ArrayList<>();
        stream.enqueue(() -> errors.add(Failures.expect(memory::close).error()));
        stream.enqueue(() -> errors.add(Failures.expect(handle::close).error()));
        stream.enqueue(() -> errors.add(Failures.expect(driver::close).error()));
        stream.enqueue(() -> errors.add(Failures.expect(stream::synchronize).error()));
        ordered.read(handle, memory, Cells.of(SIZE, 0, 0));
        stream.synchronize();
        assertThat(errors).containsExactly(
                CuFileError.IO_NOT_SUPPORTED,
                CuFileError.IO_NOT_SUPPORTED,
                CuFileError.DRIVER_CLOSING,
                CuFileError.IO_NOT_SUPPORTED);
        assertThat(bytes()).isEqualTo(file.expected(0, SIZE));
    }

    @Test
    void failedWorkIsReportedByTheNextWaitOrAtTheEnd() {
        stream.enqueue(() -> {
            throw new AssertionError("wrong sum");
        });
        ordered.read(handle, memory, Cells.of(SIZE, 0, 0));
        assertThatIllegalStateException().isThrownBy(stream::synchronize).withMessageContaining("wrong sum");
        assertThat(bytes()).isEqualTo(file.expected(0, SIZE));
        assertThat(gpu.misuse()).isEmpty();
        stream.enqueue(() -> {
            throw new AssertionError("wrong again");
        });
        stream.close();
        assertThat(gpu.misuse()).singleElement().asString().contains("wrong again");
        assertThatIllegalStateException().isThrownBy(() -> stream.enqueue(() -> {
        }));
    }

    @Test
    void fullStreamRunsItsOldestWork() {
        for (int i = 0; i < 129; i++) {
            ordered.read(handle, memory, Cells.of(1, i, i));
        }
        assertThat(gpu.segment(memory.range().slice(0, 1)).toArray(ValueLayout.JAVA_BYTE))
                .isEqualTo(file.expected(0, 1));
        assertThat(bytes()[1]).as("the second operation waits").isNotEqualTo(file.expected(1, 1)[0]);
    }

    @Test
    void seedInterleavesStreams() {
        Set<List<Integer>> orders = new HashSet<>();
        for (long seed = 0; seed < 20; seed++) {
            FakeGpu random = FakeGpu.builder().seed(seed).build();
            List<Integer> order = new ArrayList<>();
            List<FakeStream> streams = List.of(random.newStream(), random.newStream(), random.newStream());
            for (int i = 0; i < 9; i++) {
                int number = i;
                streams.get(i % 3).enqueue(() -> order.add(number));
            }
            streams.getFirst().synchronize();
            assertThat(order).as("order of the first stream, seed %d", seed).containsSubsequence(0, 3, 6);
            random.synchronize();
            assertThat(order).as("all work, seed %d", seed).hasSize(9).containsSubsequence(1, 4, 7);
            orders.add(order);
        }
        assertThat(orders).hasSizeGreaterThan(10);
    }

    @Test
    void plannedFaultHappensInStreamOrder() {
        faults.on(Call.STREAM_READ).nth(2).after(10).fails(Errno.EIO);
        List<Long> seen = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Cells cells = Cells.of(100, i * 100, i * 100);
            ordered.read(handle, memory, cells);
            stream.enqueue(() -> seen.add(cells.bytesDone()));
        }
        assertThat(seen).isEmpty();
        stream.synchronize();
        assertThat(seen).containsExactly(100L, (long) -Errno.EIO, 100L);
        faults.verify();
    }

    @Test
    void hostStreamsAndForeignMemoryServeToo() throws InterruptedException {
        try (HostStream host = HostStream.create();
                CuFileStream onHost = driver.stream(host.address(), Set.of());
                CuFileDriver reference = CuFileDriver.open(new ReferenceBackend())) {
            Cells cells = Cells.of(SIZE, 0, 0);
            onHost.read(handle, memory, cells);
            host.synchronize();
            assertThat(cells.bytesDone()).isEqualTo(SIZE);
            MemoryAllocation foreign = reference.allocator().allocate(MemoryKind.HOST, SIZE);
            ordered.read(handle, foreign, Cells.of(SIZE, 0, 0));
            foreign.close();
        }
        Failures.expect(CuFileError.INVALID_VALUE, () -> driver.stream(12345, Set.of()));
    }

    @Test
    void defaultStreamServes() {
        try (CuFileStream onDefault = driver.stream(0, Set.of())) {
            Cells cells = Cells.of(SIZE, 0, 0);
            onDefault.read(handle, memory, cells);
            assertThat(cells.bytesDone()).isZero();
            gpu.defaultStream().close();
            assertThat(cells.bytesDone()).isEqualTo(SIZE);
            onDefault.read(handle, memory, cells);
        }
    }
}
