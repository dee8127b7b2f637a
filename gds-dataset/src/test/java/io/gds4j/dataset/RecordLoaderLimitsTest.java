package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStream;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.FakeStream;
import io.gds4j.testkit.FaultInjectingBackend;
import io.gds4j.testkit.GdsExtension;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Arguments at the ends of their ranges, waits at their limits, and failures at the end. */
@Tag("slow")
@Timeout(60)
class RecordLoaderLimitsTest {
    private static final int RECORDS = 100;

    @RegisterExtension
    final GdsExtension gds = GdsExtension.create();

    @TempDir
    Path folder;

    private Path file = Path.of("");

    @BeforeEach
    void makeRecords() throws IOException {
        file = TestRecords.write(folder.resolve("records"), 0, 0, RECORDS);
    }

    private RecordSource source() {
        return RecordFiles.fixed(List.of(file), TestRecords.LENGTH);
    }

    private RecordLoader.Builder loader(int batch) {
        return RecordLoader.builder(gds.driver(), source(), batch).target(MemoryKind.HOST, 0).memory(1 << 20);
    }

    /** A timeout that could not be converted once left a waiter behind, which swallowed a batch. */
    @Test
    @SuppressWarnings("NullAway")
    void strangeTimeoutsLoseNoBatch() {
        try (RecordLoader loader = loader(50).open()) {
            assertThatThrownBy(() -> loader.poll(null)).isInstanceOf(NullPointerException.class);
            Optional<RecordBatch> batch = loader.poll(Duration.ofSeconds(Long.MIN_VALUE));
            assertThat(TestRecords.close(gds.driver(), batch.orElseGet(loader::next))).startsWith(0L);
        }
    }

    @Test
    void timedWaitThatEndedCountsForNoOther() {
        Duration limit = Duration.ofMillis(100);
        List<RecordBatch> open = new ArrayList<>();
        try (RecordLoader loader = loader(10).memory(2 * 4096).closeTimeout(limit).open()) {
            open.add(loader.next());
            open.add(loader.next());
            catchThrowable(() -> loader.poll(Duration.ofMillis(80))); // on a busy machine this waits for the limit
            long begun = System.nanoTime();
            assertThatThrownBy(loader::next).hasMessageContaining("for 100 ms");
            assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThanOrEqualTo(limit);
        } finally {
            open.forEach(RecordBatch::close);
        }
    }

    @Test
    void fileThatFailsToCloseKeepsNoMemory() {
        gds.faults().on(Call.CLOSE).file(file).fails(Errno.EIO);
        RecordLoader loader = loader(50).open();
        assertThatThrownBy(loader::close).isInstanceOf(CuFileException.class).hasMessageContaining("EIO");
        loader.close();
    }

    /** Records of 1000 bytes; the longest could have almost 2^63. */
    private record VastSource(Path file) implements TestRecords.InOneFile {
        @Override
        public long records() {
            return 1000;
        }

        @Override
        public long maxLength() {
            return Long.MAX_VALUE;
        }

        @Override
        public long fileOffset(long record) {
            return 0;
        }

        @Override
        public long length(long record) {
            return 1000;
        }
    }

    /** A million labels of one byte once took 37 MB of the heap in each of 128 buffers. */
    @Test
    void memoryBoundsTheHeapToo() {
        RecordSource labels = RecordFiles.fixed(List.of(file), 1);
        FakeGpu gpu = FakeGpu.builder().bytesPerDevice(1 << 20).build();
        try (CuFileDriver driver = CuFileDriver.open(gpu.backend());
                RecordLoader loader = RecordLoader.builder(driver, labels, 10_000)
                        .target(MemoryKind.CUDA_DEVICE, 0).memory(1 << 20).open()) {
            // Each buffer has three pages and 370,000 bytes of the heap.
            assertThat((1 << 20) - gpu.availableBytes(0)).isEqualTo(2 * 3 * 4096);
            try (RecordBatch batch = loader.next()) {
                assertThat(batch.count()).isEqualTo(RECORDS * TestRecords.LENGTH);
            }
        }
    }

    @Test
    void batchesTooLargeForTheHeapFailInOneLine() {
        RecordSource empty = new Lengths(file, new long[]{0});
        RecordLoader.Builder vast =
                RecordLoader.builder(gds.driver(), empty, 1 << 24).target(MemoryKind.HOST, 0).memory(1L << 40);
        assertThatThrownBy(vast::open).isInstanceOfSatisfying(CuFileException.class,
                e -> assertThat(e.error()).isEqualTo(CuFileError.NOMEM_ERROR))
                .hasMessageContaining("128 batches of 16777216 records need 79456894976 bytes of the Java heap");
    }

    /** Records of these lengths; a negative one stands for a record of that length behind the end of the file. */
    private record Lengths(Path file, long[] lengths) implements TestRecords.InOneFile {
        @Override
        public long records() {
            return lengths.length;
        }

        @Override
        public long maxLength() {
            return Arrays.stream(lengths).map(Math::abs).max().orElse(0);
        }

        @Override
        public long fileOffset(long record) {
            return lengths[(int) record] < 0
                    ? 1L << 40
                    : Arrays.stream(lengths, 0, (int) record).filter(length -> length > 0).sum();
        }

        @Override
        public long length(long record) {
            return Math.abs(lengths[(int) record]);
        }
    }

    /** Good records move to the place of bad ones, by less than their length, and on a GPU in several parts. */
    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void goodRecordsMoveTogether(MemoryKind kind) throws IOException {
        long[] lengths = {3, -1, 9 << 20, 0, 5, -7, -1, 4096, -(5 << 20), 100, -2};
        byte[] content = new byte[(9 << 20) + 4204];
        new Random(5).nextBytes(content);
        Path large = Files.write(folder.resolve("large"), content);
        FakeGpu gpu = FakeGpu.builder().bytesPerDevice(64 << 20).build();
        try (CuFileDriver driver = CuFileDriver.open(gpu.backend());
                RecordLoader loader = RecordLoader.builder(driver, new Lengths(large, lengths), lengths.length)
                        .target(kind, 0).memory(60 << 20).onError(ErrorPolicy.SKIP).open();
                RecordBatch batch = loader.next()) {
            assertThat(batch.count()).isEqualTo(6);
            assertThat(batch.skipped()).isEqualTo(5);
            assertThat(batch.record(5)).isEqualTo(9);
            assertThat(batch.offset(5)).isEqualTo(content.length - 100);
            byte[] delivered = new byte[(int) batch.memory().length()];
            driver.allocator().copyToHost(batch.memory(), MemorySegment.ofArray(delivered));
            assertThat(Arrays.equals(delivered, content)).isTrue();
        }
    }

    /** The bytes of a buffer, rounded up to pages, once exceeded 2^63: batches overlapped. */
    @Test
    void vastBatchesAreRefused() {
        RecordLoader.Builder vast = RecordLoader.builder(gds.driver(), new VastSource(file), 5)
                .target(MemoryKind.HOST, 0).memory(Long.MAX_VALUE);
        assertThatThrownBy(vast::open).isInstanceOf(CuFileException.class)
                .hasMessageContaining("a batch takes 9223372036854775807 bytes, and two of them do not fit");
    }

    /** Readers that a disk keeps waiting read 1 MiB at a time, near each other; the first batch is planned before they know. */
    @Test
    void runsAreShortWhileReadsAreSlow() throws IOException {
        Path large = folder.resolve("large");
        try (RandomAccessFile sparse = new RandomAccessFile(large.toFile(), "rw")) {
            sparse.setLength(32 << 20);
        }
        FaultInjectingBackend backend = new FaultInjectingBackend(FakeGpu.create().backend());
        backend.on(Call.READ).always().delays(Duration.ofMillis(20));
        RecordSource records = RecordFiles.fixed(List.of(large), 1 << 16);
        try (CuFileDriver driver = CuFileDriver.open(backend);
                RecordLoader loader = RecordLoader.builder(driver, records, 64)
                        .target(MemoryKind.HOST, 0).memory(16 << 20).readers(1).open()) {
            while (loader.hasNext()) {
                loader.next().close();
            }
        }
        assertThat(backend.readCount()).isEqualTo(1 + 7 * 4);
    }

    /** A reader once asked without end for a result that a failed operation never set. */
    @Test
    void streamOperationThatFailsGivesTheBufferBack() {
        FakeGpu gpu = FakeGpu.create();
        FaultInjectingBackend backend = new FaultInjectingBackend(gpu.backend());
        backend.on(Call.STREAM_READ).always().fails(Errno.EIO);
        List<Long> seen = new ArrayList<>();
        try (CuFileDriver driver = CuFileDriver.open(backend);
                FakeStream queue = gpu.newStream();
                CuFileStream stream = driver.stream(queue.address(), Set.of());
                RecordLoader loader = RecordLoader.builder(driver, source(), 10).memory(2 * 4096).open()) {
            while (loader.hasNext()) {
                RecordBatch batch = loader.next();
                seen.addAll(TestRecords.numbers(driver, batch));
                batch.close(stream);
            }
        }
        gpu.verify();
        assertThat(seen).hasSize(RECORDS);
    }

    /** The failure came from the common pool, whose threads may wait for the very consumer that it is for. */
    @Test
    void closeTimeoutNeedsNoThreadOfThePool() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        List<RecordBatch> open = new ArrayList<>();
        try (RecordLoader loader = loader(10).memory(2 * 4096).closeTimeout(Duration.ofMillis(20)).open()) {
            for (int i = 0; i < 16; i++) {
                CompletableFuture.runAsync(() -> catchThrowable(end::await));
            }
            open.add(loader.next());
            open.add(loader.next());
            CompletableFuture<RecordBatch> stalled = loader.nextAsync();
            assertThatThrownBy(() -> stalled.get(5, TimeUnit.SECONDS)).hasMessageContaining("for 20 ms");
        } finally {
            end.countDown();
            open.forEach(RecordBatch::close);
        }
    }
}
