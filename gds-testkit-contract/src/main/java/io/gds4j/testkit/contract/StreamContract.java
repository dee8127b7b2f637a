package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.IoResult;
import io.gds4j.StreamFlag;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Contract of stream-ordered reads and writes. Without a GPU it uses host streams, which order work as CUDA streams do.
 *
 * @since 0.1
 */
public abstract class StreamContract extends StreamFragments {
    private static final long UNTOUCHED = -77;

    /** For subclasses. */
    protected StreamContract() {
    }

    /** The four cells of an operation. */
    private record Operation(CuFileStream.Cells cells) {
        static Operation of(long size, long fileOffset, long bufferOffset) {
            Arena arena = Arena.ofAuto();
            return new Operation(new CuFileStream.Cells(
                    cell(arena, size), cell(arena, fileOffset), cell(arena, bufferOffset), cell(arena, UNTOUCHED)));
        }

        private static MemorySegment cell(Arena arena, long value) {
            MemorySegment cell = arena.allocate(8, 8);
            cell.set(ValueLayout.JAVA_LONG, 0, value);
            return cell;
        }

        void rebind(long size, long fileOffset, long bufferOffset) {
            cells.size().set(ValueLayout.JAVA_LONG, 0, size);
            cells.fileOffset().set(ValueLayout.JAVA_LONG, 0, fileOffset);
            cells.bufferOffset().set(ValueLayout.JAVA_LONG, 0, bufferOffset);
        }

        long result() {
            return cells.bytesDone();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void operationsRunBetweenEarlierAndLaterWork(Way way) throws Exception {
        GuardedFile source = newFile(SIZE);
        GuardedFile target = newFile(SIZE);
        List<Long> seen = new ArrayList<>();
        try (CuFileHandle from = openToRead(source, way.mode());
                CuFileHandle to = openToWrite(target, way.mode());
                GuardedMemory memory = memory(way.kind(), SIZE);
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(host.address(), Set.of())) {
            CountDownLatch go = new CountDownLatch(1);
            Operation read = Operation.of(SIZE, 0, 0);
            Operation write = Operation.of(SIZE, 0, 0);
            host.enqueue(() -> await(go));
            stream.read(from, memory.range(), read.cells());
            host.enqueue(() -> seen.add(read.result()));
            stream.write(to, memory.range(), write.cells());
            host.enqueue(() -> seen.add(write.result()));
            assertThat(read.result()).as("nothing before its turn").isEqualTo(UNTOUCHED);
            go.countDown();
            host.synchronize();
            assertThat(seen).containsExactly((long) SIZE, (long) SIZE);
            memory.expect(0, source.expected(0, SIZE));
            memory.verify();
            target.expectWrite(0, source.expected(0, SIZE));
        }
        target.verify();
    }

    @ParameterizedTest
    @MethodSource("ways")
    void operationsReportBeforeTheirStreamPassesThem(Way way) throws Exception {
        int size = 6 << 20;
        GuardedFile source = newFile(size);
        GuardedFile target = newFile(SIZE);
        List<IoResult> results = List.of(new IoResult(), new IoResult(), new IoResult(), new IoResult());
        List<Long> seen = new ArrayList<>();
        try (CuFileHandle from = openToRead(source, way.mode());
                CuFileHandle to = openToWrite(target, way.mode());
                GuardedMemory memory = memory(way.kind(), size);
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(host.address(), Set.of())) {
            CountDownLatch go = new CountDownLatch(1);
            Operation late = Operation.of(size, 0, 0);
            Operation grown = Operation.of(PAGE, 0, 0);
            host.enqueue(() -> await(go));
            host.enqueue(() -> late.rebind(SIZE, 5, 0));
            stream.read(from, memory.range(), late.cells(), results.getFirst());
            host.enqueue(() -> seen.add(results.getFirst().moved()));
            stream.read(from, memory.range(), Operation.of(size, PAGE, 0).cells(), results.get(1));
            stream.write(to, memory.range(), Operation.of(SIZE, 0, 0).cells(), results.get(2));
            host.enqueue(() -> grown.rebind(PAGE + 1, 0, 0));
            stream.read(from, memory.range(), grown.cells(), results.get(3));
            Failures.expect(
                    CuFileError.INVALID_VALUE,
                    () -> stream.read(from, memory.range(), grown.cells(), results.get(3)));
            go.countDown();
            host.synchronize();
            assertThat(seen).containsExactly((long) SIZE);
            assertReports(results.getFirst(), SIZE, SIZE);
            assertReports(results.get(1), size, size - PAGE);
            assertReports(results.get(2), SIZE, SIZE);
            assertRefused(results.get(3), PAGE + 1, CuFileError.INVALID_VALUE);
            Failures.expect(
                    CuFileError.INVALID_FILE_OPEN_FLAG,
                    () -> stream.write(from, memory.range(), Operation.of(PAGE, 0, 0).cells(), results.get(2)));
            assertRefused(results.get(2), PAGE, CuFileError.INVALID_FILE_OPEN_FLAG);
            CuFileStream.Cells cells = stream.read(from, memory.range(), PAGE, 0, 0, results.get(2));
            stream.write(to, memory.range(), PAGE, 0, 0, results.get(1));
            host.synchronize();
            assertThat(cells.bytesDone()).isEqualTo(PAGE);
            assertReports(results.get(2), PAGE, PAGE);
            assertReports(results.get(1), PAGE, PAGE);
        }
    }

    @Test
    void cellsWithoutFlagsAreReadAtExecution() throws Exception {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED);
                GuardedMemory memory = memory(MemoryKind.HOST, SIZE);
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(host.address(), Set.of())) {
            CountDownLatch go = new CountDownLatch(1);
            Operation read = Operation.of(SIZE, 1 << 20, 1 << 20);
            host.enqueue(() -> await(go));
            host.enqueue(() -> read.rebind(100, 1001, 33));
            stream.read(handle, memory.range(), read.cells());
            go.countDown();
            host.synchronize();
            assertThat(read.result()).isEqualTo(100);
            memory.expect(33, file.expected(1001, 100));
            memory.verify();
        }
    }

    @Test
    void cellsWithFlagsAreReadAtSubmission() throws Exception {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED);
                GuardedMemory memory = memory(MemoryKind.HOST, SIZE);
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(
                        host.address(),
                        EnumSet.of(
                                StreamFlag.FIXED_BUFFER_OFFSET,
                                StreamFlag.FIXED_FILE_OFFSET,
                                StreamFlag.FIXED_FILE_SIZE))) {
            CountDownLatch go = new CountDownLatch(1);
            Operation read = Operation.of(100, 1001, 33);
            host.enqueue(() -> await(go));
            stream.read(handle, memory.range(), read.cells());
            read.rebind(1, 2, 3);
            go.countDown();
            host.synchronize();
            assertThat(read.result()).isEqualTo(100);
            memory.expect(33, file.expected(1001, 100));
            memory.verify();
        }
    }

    @Test
    void sizeCanShrinkButNotGrow() throws Exception {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED);
                GuardedMemory memory = memory(MemoryKind.HOST, SIZE);
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(host.address(), Set.of())) {
            CountDownLatch go = new CountDownLatch(1);
            host.enqueue(() -> await(go));
            Operation grown = Operation.of(PAGE, 0, 0);
            host.enqueue(() -> grown.rebind(PAGE + 1, 0, 0));
            stream.read(handle, memory.range(), grown.cells());
            Operation none = Operation.of(PAGE, 0, 0);
            host.enqueue(() -> none.rebind(0, 0, 0));
            stream.read(handle, memory.range(), none.cells());
            go.countDown();
            host.synchronize();
            assertThat(grown.result()).isNegative();
            assertThat(none.result()).isZero();
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void resultReportsEndOfFileAndFailures(Way way) throws Exception {
        GuardedFile file = newFile(SIZE + 100);
        try (CuFileHandle handle = openToRead(file, way.mode());
                GuardedMemory memory = memory(way.kind(), 2 * SIZE);
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(host.address(), Set.of())) {
            Operation atEnd = Operation.of(SIZE, SIZE, 0);
            Operation pastEnd = Operation.of(SIZE, 1 << 20, 0);
            Operation negative = Operation.of(SIZE, -1, 0);
            Operation outside = Operation.of(SIZE, 0, SIZE + 1);
            Operation readOnly = Operation.of(SIZE, 0, 0);
            Operation good = Operation.of(SIZE, 3, SIZE);
            stream.read(handle, memory.range(), atEnd.cells());
            stream.read(handle, memory.range(), pastEnd.cells());
            stream.read(handle, memory.range(), negative.cells());
            stream.read(handle, memory.range(), outside.cells());
            Failures.expect(CuFileError.INVALID_FILE_OPEN_FLAG,
                    () -> stream.write(handle, memory.range(), readOnly.cells()));
            stream.read(handle, memory.range(), good.cells());
            host.synchronize();
            assertThat(atEnd.result()).isEqualTo(100);
            assertThat(pastEnd.result()).isZero();
            assertThat(negative.result()).isNegative();
            assertThat(outside.result()).isNegative();
            assertThat(readOnly.result()).as("never queued").isEqualTo(UNTOUCHED);
            assertThat(good.result()).isEqualTo(SIZE);
            memory.expect(0, file.expected(SIZE, 100));
            memory.expect(SIZE, file.expected(3, SIZE));
            memory.verify();
        }
    }

    @Test
    void resultReportsMisalignment() throws Exception {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle handle = openToRead(file, Mode.BUFFERED);
                GuardedMemory memory = memory(MemoryKind.HOST, SIZE);
                OrderedStream host = backend().newStream();
                CuFileStream stream =
                        driver().stream(host.address(), Set.of(StreamFlag.PAGE_ALIGNED_INPUTS))) {
            Operation unaligned = Operation.of(PAGE, 1, 0);
            stream.read(handle, memory.range(), unaligned.cells());
            host.synchronize();
            assertThat(unaligned.result()).isEqualTo(-CuFileError.INVALID_VALUE.code());
            memory.verify();
        }
    }

    @ParameterizedTest
    @MethodSource("ways")
    void virtualThreadsQueueOperations(Way way) throws Exception {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle handle = openToRead(file, way.mode())) {
            Crowd.run(16, Thread.ofVirtual(), member -> {
                try (GuardedMemory memory = memory(way.kind(), SIZE);
                        OrderedStream host = backend().newStream();
                        CuFileStream stream = driver().stream(host.address(), Set.of())) {
                    Operation read = Operation.of(SIZE, 0, 0);
                    stream.read(handle, memory.range(), read.cells());
                    host.synchronize();
                    assertThat(read.result()).isEqualTo(SIZE);
                    memory.expect(0, file.expected(0, SIZE));
                    memory.verify();
                }
            });
        }
    }

    @Test
    void manyWaitingStreamsKeepTheirOrder() throws Exception {
        int count = 64;
        GuardedFile file = newFile(count * PAGE);
        CountDownLatch go = new CountDownLatch(1);
        List<OrderedStream> hosts = new ArrayList<>();
        List<CuFileStream> streams = new ArrayList<>();
        List<Operation> operations = new ArrayList<>();
        try (CuFileHandle handle = openToRead(file, Mode.DIRECT);
                GuardedMemory memory = memory(backend().kinds().getFirst(), count * PAGE)) {
            for (int i = 0; i < count; i++) {
                OrderedStream host = backend().newStream();
                hosts.add(host);
                streams.add(driver().stream(host.address(), Set.of()));
            }
            // CUDA blocks stream creation while many streams wait, so create all streams before the first one waits.
            for (int i = 0; i < count; i++) {
                hosts.get(i).enqueue(() -> await(go));
                Operation read = Operation.of(PAGE, (long) i * PAGE, (long) i * PAGE);
                operations.add(read);
                streams.get(i).read(handle, memory.range(), read.cells());
            }
            assertThat(operations).extracting(Operation::result).containsOnly(UNTOUCHED);
            go.countDown();
            for (OrderedStream host : hosts) {
                host.synchronize();
            }
            assertThat(operations).extracting(Operation::result).containsOnly((long) PAGE);
            memory.expect(0, file.expected(0, count * PAGE));
            memory.verify();
        } finally {
            go.countDown();
            streams.forEach(CuFileStream::close);
            hosts.forEach(OrderedStream::close);
        }
    }

    @Test
    void closingFileMemoryAndStreamWaitsForTheQueue() {
        GuardedFile file = newFile(SIZE);
        GuardedFile other = newFile(SIZE);
        CountDownLatch go = new CountDownLatch(1);
        try (OrderedStream host = backend().newStream()) {
            CuFileStream stream = driver().stream(host.address(), Set.of());
            CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
            GuardedMemory memory = memory(backend().kinds().getFirst(), SIZE);
            memory.put(0, RandomBytes.of(3, SIZE));
            Operation write = Operation.of(SIZE, 0, 0);
            host.enqueue(() -> await(go));
            stream.write(handle, memory.range(), write.cells());
            file.expectWrite(0, memory.expected(0, SIZE));
            Thread.ofVirtual().start(go::countDown);
            handle.close();
            assertThat(write.result()).isEqualTo(SIZE);
            memory.close();
            stream.close();
        }
        file.verify();
        other.verify();
    }

    @Test
    void driverClosesAfterTheQueue() {
        GuardedFile file = newFile(SIZE);
        CountDownLatch go = new CountDownLatch(1);
        try (OrderedStream host = backend().newStream()) {
            CuFileDriver driver = newDriver();
            CuFileStream stream = driver.stream(host.address(), Set.of());
            CuFileHandle handle = driver.openFile(file.path());
            GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), MemoryKind.HOST, SIZE);
            Operation read = Operation.of(SIZE, 0, 0);
            host.enqueue(() -> await(go));
            stream.read(handle, memory.range(), read.cells());
            Thread.ofVirtual().start(go::countDown);
            driver.close();
            assertThat(read.result()).isEqualTo(SIZE);
            assertThat(stream.isOpen()).isFalse();
            memory.close();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 32, -1})
    void unknownFlagIsInvalid(int flags) {
        CuFileBackend backend = backend().createBackend(backend().config());
        backend.driverOpen();
        try (OrderedStream host = backend().newStream()) {
            Failures.expect(
                    CuFileError.INVALID_VALUE, () -> backend.streamRegister(host.address(), flags));
        } finally {
            backend.driverClose();
        }
    }

    @Test
    void streamIsRegisteredOnceAndDeregisteredOnce() {
        CuFileBackend backend = backend().createBackend(backend().config());
        backend.driverOpen();
        try (OrderedStream host = backend().newStream()) {
            for (int flags = 0; flags < 16; flags++) {
                backend.streamRegister(host.address(), flags);
                Failures.expect(
                        CuFileError.INVALID_VALUE, () -> backend.streamRegister(host.address(), 0));
                backend.streamDeregister(host.address());
                Failures.expect(
                        CuFileError.INVALID_VALUE, () -> backend.streamDeregister(host.address()));
            }
        } finally {
            backend.driverClose();
        }
    }

    @Test
    void streamsNeedParallelIo() {
        GuardedFile file = newFile(SIZE);
        try (CuFileDriver driver = newDriver(backend().config().toBuilder()
                .set(CuFileKeys.PARALLEL_IO, false)
                .build());
                CuFileHandle handle = driver.openFile(file.path());
                GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), MemoryKind.HOST, SIZE);
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver.stream(host.address(), Set.of())) {
            Failures.expect(CuFileError.ASYNC_NOT_SUPPORTED,
                    () -> stream.read(handle, memory.range(), Operation.of(SIZE, 0, 0).cells()));
            assertThat(driver.properties().featureFlags() & 4).as("streams").isZero();
        }
    }

    @Test
    void cellsConfinedToAThreadAreInvalid() {
        GuardedFile file = newFile(SIZE);
        try (Arena confined = Arena.ofConfined();
                CuFileHandle handle = openToRead(file, Mode.BUFFERED);
                GuardedMemory memory = memory(MemoryKind.HOST, SIZE);
                OrderedStream host = backend().newStream();
                CuFileStream stream = driver().stream(host.address(), Set.of())) {
            MemorySegment cell = confined.allocate(8, 8);
            Failures.expect(CuFileError.INVALID_VALUE,
                    () -> stream.read(
                            handle, memory.range(), new CuFileStream.Cells(cell, cell, cell, cell)));
        }
    }
}
