package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.BufferRight;
import io.gds4j.BufferWindow;
import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatchException;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.CuFileStatistics;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.IoResult;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DirectStorage;
import io.gds4j.config.SizeParameter;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Runs the code of docs/io.md, docs/choosing.md and docs/configuration.md, whose snippets stand here word for word. */
@ExtendWith(QuietOutput.class)
class IoGuideTest {
    private static final int SIZE = 1 << 20;
    private static final int PART = 64 << 10;

    @TempDir
    private Path folder;

    private Path path;
    private byte[] data;

    @BeforeEach
    void writeFile() throws IOException {
        data = SampleArguments.randomBytes(SIZE);
        path = Files.write(folder.resolve("data.bin"), data);
    }

    @Test
    void configuredDriverOpensAndReportsItsPath() {
        CuFileConfig config = CuFileConfig.builder().set(CuFileKeys.MAX_IO_THREADS, 8L).build();
        try (CuFileDriver driver = CuFileDriver.open(config);
                CuFileHandle file = driver.openFile(path, CREATE, READ, WRITE, CuFileOpenOption.DIRECT)) {
            System.out.println(driver.backendName() + ": " + file.ioPath());

            assertThat(file.size()).isEqualTo(SIZE);
        }
    }

    @Test
    void bytesMoveBetweenFileAndEveryMemory() {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path, READ, WRITE);
                Arena arena = Arena.ofConfined()) {
            MemoryAllocator allocator = driver.allocator();
            try (MemoryAllocation memory = allocator.allocate(allocator.best(), SIZE)) {
                long bytes = file.read(memory, 0); // as much as fits; less only at the end of the file
                long some = file.read(memory, PART, 4096, 8192); // from file offset 4096, to buffer offset 8192
                file.readFully(memory, 0); // all of it, or an exception

                MemorySegment segment = arena.allocate(PART);
                file.read(segment, 0); // native segments of any arena
                ByteBuffer buffer = ByteBuffer.allocateDirect(PART);
                file.read(buffer, 0); // from its position to its limit; moves the position

                file.write(memory.range().slice(0, PART), 0); // a part of an allocation
                file.force(false); // durable, as fdatasync

                assertThat(bytes).isEqualTo(SIZE);
                assertThat(some).isEqualTo(PART);
                assertThat(buffer.remaining()).isZero();
                assertThat(segment.asByteBuffer()).isEqualTo(ByteBuffer.wrap(data, 0, PART));
            }
        }
    }

    @Test
    void registeredBufferGivesWindowsToOthers() {
        try (CuFileDriver driver = CuFileDriver.open(); CuFileHandle file = driver.openFile(path)) {
            try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE);
                    CuFileBuffer buffer = driver.registerBuffer(memory);
                    BufferWindow window = buffer.window(0, PART, Set.of(BufferRight.READ_INTO))) {
                file.read(buffer, PART, 0, 0); // registered memory: pinned where the backend pins
                file.read(window, 0); // the window ends after PART bytes and cannot be written from
            }
        }
    }

    @Test
    void futuresOverlapAndReadAhead() {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            MemoryRange first = memory.range().slice(0, PART);
            MemoryRange second = memory.range().slice(PART, PART);
            CompletableFuture<Long> one = file.readAsync(first, 0);
            CompletableFuture<Long> two = file.readAsync(second, PART);
            long bytes = one.join() + two.join(); // join throws what read throws, in a CompletionException
            assertThat(bytes).isEqualTo(2 * PART);

            long seen = 0;
            MemoryRange[] slots = {first, second};
            Deque<CompletableFuture<Long>> ahead = new ArrayDeque<>();
            for (long next = 0, done = 0; done < SIZE; done += PART) {
                for (; next < SIZE && ahead.size() < slots.length; next += PART) {
                    ahead.add(file.readAsync(slots[(int) (next / PART % slots.length)], next));
                }
                seen += use(slots[(int) (done / PART % slots.length)], ahead.remove().join()); // other reads go on
            }
            assertThat(seen).isEqualTo(SIZE);
        }
    }

    private static long use(MemoryRange slot, long bytes) {
        assertThat(bytes).isEqualTo(slot.length());
        return bytes;
    }

    @Test
    void vectoredReadFillsRangesInOrder() {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            List<MemoryRange> ranges = List.of(memory.range().slice(0, PART), memory.range().slice(PART, PART));
            long bytes = file.readv(ranges, 0); // one request into several ranges
            assertThat(bytes).isEqualTo(2L * PART);
        }
    }

    @Test
    void fragmentsAreWrittenAndReadWithAReport() {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path, READ, WRITE);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 3 * PART)) {
            memory.range().segment().orElseThrow().copyFrom(MemorySegment.ofArray(data).asSlice(PART, 3 * PART));
            List<ScatterCopy> fragments = List.of(
                    new ScatterCopy(0, PART, memory, 2 * PART), // the range's first bytes
                    new ScatterCopy(PART, PART, memory, 0)); // those behind them
            file.writeScattered(0, 2 * PART, fragments); // one range of the file from fragments of memory
            file.readScattered(0, 2 * PART, fragments); // and back
            IoResult result = new IoResult();
            file.readScattered(0, 2 * PART, fragments, result);
            file.read(memory, PART, 0, 0);

            assertThat(result.isComplete()).isTrue();
            assertThat(result.path()).isPresent();
            assertThat(memory.range().segment().orElseThrow().asSlice(0, PART)
                    .mismatch(MemorySegment.ofArray(data).asSlice(3 * PART, PART))).isEqualTo(-1);
        }
    }

    @Test
    void fragmentsAreReadInTheOrderOfAStream() throws InterruptedException {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 2 * PART);
                HostStream raw = HostStream.create();
                CuFileStream stream = driver.stream(raw.address())) {
            List<ScatterCopy> fragments = List.of(
                    new ScatterCopy(0, PART, memory, PART), new ScatterCopy(PART, PART, memory, 0));
            CuFileStream.Cells cells = stream.readScattered(file, 0, 2 * PART, fragments); // returns at once
            raw.synchronize();

            assertThat(cells.bytesDone()).isEqualTo(2 * PART);
            assertThat(memory.range().segment().orElseThrow().asSlice(PART, PART)
                    .mismatch(MemorySegment.ofArray(data).asSlice(0, PART))).isEqualTo(-1);
        }
    }

    @Test
    void rangesOfTwoFilesAreReadInOneCall() throws IOException {
        Path second = Files.write(folder.resolve("second.bin"), data);
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path, READ);
                CuFileHandle other = driver.openFile(second, READ);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, PART);
                MemoryAllocation one = driver.allocator().allocate(MemoryKind.HOST, 100);
                MemoryAllocation two = driver.allocator().allocate(MemoryKind.HOST, PART)) {
            List<RangeRead> ranges = List.of(
                    RangeRead.of(file, memory, PART, 4096, 0), // memory, size, file offset, buffer offset
                    RangeRead.of(other, List.of(one, two), 0)); // several fragments, one after the other
            IoResults results = new IoResults(); // reused from call to call
            driver.readRanges(ranges, results);
            for (IoResult each : results) {
                System.out.println(each.moved() + " of " + each.asked() + " bytes by " + each.bytesByPath());
            }

            assertThat(results.isComplete()).isTrue();
            assertThat(two.range().segment().orElseThrow()
                    .mismatch(MemorySegment.ofArray(data).asSlice(100, PART))).isEqualTo(-1);
        }
    }

    @Test
    void rangesFillBuffersLater() throws IOException {
        try (CuFileDriver driver = CuFileDriver.open(); CuFileHandle file = driver.openFile(path, READ)) {
            MemorySegment foreign = Arena.ofAuto().allocate(PART);
            long address = foreign.address();
            ByteBuffer left = ByteBuffer.allocate(PART); // or allocateDirect
            ByteBuffer right = ByteBuffer.allocate(PART);
            MemoryRange named = MemoryRange.ofAddress(address, PART, MemoryKind.HOST); // memoryAddress() of Arrow, Netty
            List<CompletableFuture<Long>> columns = driver.readRangesAsync(List.of(RangeRead.of(file, named, 0),
                    RangeRead.of(file, left, 4096), RangeRead.of(file, right, 4096 + PART)));
            long bytes = columns.getFirst().join(); // each completes with its range
            InputStream in = Channels.newInputStream(file.asChannel()); // closing it leaves the file open

            assertThat(bytes).isEqualTo(PART);
            assertThat(columns).allSatisfy(column -> assertThat(column.join()).isEqualTo(PART));
            assertThat(left).isEqualTo(ByteBuffer.wrap(data, 4096, PART));
            assertThat(foreign.mismatch(MemorySegment.ofArray(data).asSlice(0, PART))).isEqualTo(-1);
            assertThat(in.readAllBytes()).isEqualTo(data);
        }
    }

    @Test
    void batchServesManyRequests() {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path);
                MemoryAllocation memory = driver.allocator().allocate(driver.allocator().best(), SIZE)) {
            List<CuFileBatch.Request> requests = new ArrayList<>();
            for (long offset = 0; offset < SIZE; offset += PART) {
                requests.add(CuFileBatch.Request.read(file, memory, PART, offset, offset));
            }
            long bytes = 0;
            try (CuFileBatch batch = driver.batch(16)) {
                batch.submit(requests);
                for (CuFileBatch.Completion done : batch.await(requests.size(), Duration.ofSeconds(10))) {
                    bytes += done.bytes(); // throws if that entry failed
                }
                batch.transferAll(requests); // any number of requests, whatever the capacity
            } catch (CuFileBatchException e) {
                System.err.println(e.getMessage()); // some failed: the exception lists them
            }
            assertThat(bytes).isEqualTo(SIZE);
        }
    }

    @Test
    void streamOrdersReadsAndWork() throws InterruptedException {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            List<Byte> seen = new ArrayList<>();
            try (HostStream raw = HostStream.create();
                    CuFileStream stream = driver.stream(raw.address(), Set.of())) {
                CuFileStream.Cells cells = CuFileStream.Cells.of(memory.length(), 0, 0);
                stream.read(file, memory, cells); // returns at once
                raw.enqueue(() -> seen.add(memory.segment().get(ValueLayout.JAVA_BYTE, 0)));
                raw.synchronize();
                System.out.println(cells.bytesDone()); // bytes, or a negative errno or cuFile code

                assertThat(cells.bytesDone()).isEqualTo(SIZE);
                assertThat(seen).containsExactly(data[0]);
            }
        }
    }

    @Test
    void reportsSayWhatFuturesStreamsAndBatchesDid() throws InterruptedException {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE);
                HostStream raw = HostStream.create();
                CuFileStream stream = driver.stream(raw.address());
                CuFileBatch batch = driver.batch(16)) {
            CuFileStream.Cells cells = CuFileStream.Cells.of(memory.length(), 0, 0);
            IoResult result = new IoResult(); // reused from call to call
            file.read(memory, PART, 0, 0, result);
            System.out.println(result.moved() + " of " + result.asked() + " bytes by " + result.bytesByPath());
            result.whyNotDirect().ifPresent(System.out::println);
            file.readAsync(memory, PART, 0, 0, result).join(); // filled before the future completes
            stream.read(file, memory, cells, result); // filled before the stream passes the operation
            raw.synchronize();
            assertThat(result.moved()).isEqualTo(SIZE);

            List<CuFileBatch.Request> requests = new ArrayList<>();
            for (long offset = 0; offset < SIZE; offset += PART) {
                requests.add(CuFileBatch.Request.read(file, memory, PART, offset, offset));
            }
            requests.replaceAll(request -> request.reportTo(new IoResult()));
            for (CuFileBatch.Completion done : batch.transferAll(requests)) {
                done.report().ifPresent(System.out::println); // the bytes of each path
            }
            assertThat(requests).allSatisfy(
                    request -> assertThat(request.report().orElseThrow().isComplete()).isTrue());
        }
    }

    @Test
    void parametersAndStatisticsTellWhatHappens() {
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(path);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            long threads = driver.parameter(SizeParameter.EXECUTION_MAX_IO_THREADS);
            System.out.println(threads + " of " + driver.parameterRange(SizeParameter.EXECUTION_MAX_IO_THREADS));

            CuFileStatistics statistics = driver.statistics();
            statistics.setLevel(1);
            statistics.start();
            file.read(memory, 0);
            System.out.println(statistics.level1().readBytes() + " bytes, " + driver.bytesByPath());

            assertThat(statistics.level1().readBytes()).isEqualTo(SIZE);
        }
    }

    @Test
    void failureNamesCodeErrnoAndCount() {
        try (CuFileDriver driver = CuFileDriver.open();
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            assertThat(save(driver, folder.resolve("missing/file"), memory)).isEqualTo("no such folder");
            assertThat(save(driver, folder.resolve("new"), memory)).isEqualTo("saved");
        }
    }

    private static String save(CuFileDriver driver, Path target, MemoryAllocation memory) {
        try (CuFileHandle file = driver.openFile(target, CREATE, WRITE)) {
            file.write(memory, 0);
            return "saved";
        } catch (CuFileException e) {
            if (e.isNotFound()) {
                return "no such folder";
            }
            if (e.errno().orElse(0) == Errno.ENOSPC) {
                return "disk full after " + e.bytesTransferred() + " bytes";
            }
            return e.error() == CuFileError.PERMISSION_DENIED ? "not allowed" : e.getMessage();
        }
    }

    @Test
    void configurationServesOrFailsAtOnce() {
        try {
            CuFileConfig config = CuFileConfig.builder()
                    .set(CuFileKeys.IO_BATCHSIZE, 64L)
                    .directStorage(DirectStorage.REQUIRE)
                    .build();
            try (CuFileDriver driver = CuFileDriver.open(config)) {
                System.out.println(driver.diagnose());
            }
        } catch (CuFileException e) { // this machine has no GPUDirect Storage
            assertThat(e.error()).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
            assertThat(e).hasMessageContaining("GPUDirect Storage is required");
        }
    }
}
