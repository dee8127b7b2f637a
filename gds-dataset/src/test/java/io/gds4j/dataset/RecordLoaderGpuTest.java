package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileStream;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.MemoryUsage;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.FakeStream;
import io.gds4j.testkit.GdsExtension;
import io.gds4j.testkit.PlannedFault;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class RecordLoaderGpuTest {
    private static final int RECORDS = 100;

    private final FakeGpu gpu = FakeGpu.builder().devices(2).bytesPerDevice(1 << 20).build();

    @RegisterExtension
    final GdsExtension gds = GdsExtension.over(gpu);

    @TempDir
    Path folder;

    private Path file = Path.of("");
    private RecordSource source = TestRecords.none();

    @BeforeEach
    void makeRecords() throws IOException {
        file = TestRecords.write(folder.resolve("records"), 0, 0, RECORDS);
        source = RecordFiles.fixed(List.of(file), TestRecords.LENGTH);
    }

    private RecordLoader.Builder loader(int batch) {
        return RecordLoader.builder(gds.driver(), source, batch).readers(2).memory(3 * 4096);
    }

    @Test
    void recordsGoToTheGpuByDefault() {
        try (RecordLoader loader = loader(10).order(RecordOrder.shuffled(1)).open()) {
            List<Long> records = new ArrayList<>();
            while (loader.hasNext()) {
                RecordBatch batch = loader.next();
                assertThat(batch.memory().kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
                records.addAll(TestRecords.close(gds.driver(), batch));
            }
            assertThat(records).containsExactlyInAnyOrderElementsOf(LongStream.range(0, RECORDS).boxed().toList());
        }
    }

    @Test
    void recordsGoToTheChosenGpu() {
        try (RecordLoader loader = loader(10).target(MemoryKind.CUDA_DEVICE, 1).open();
                RecordBatch batch = loader.next()) {
            assertThat(batch.memory().device()).isEqualTo(1);
            assertThatThrownBy(() -> batch.segment(0)).hasMessageContaining("the batch lies in GPU memory");
        }
    }

    @Test
    void buffersReturnWhenTheirStreamHasPassed() {
        List<Long> sums = new ArrayList<>();
        try (FakeStream queue = gpu.newStream();
                CuFileStream stream = gds.driver().stream(queue.address(), Set.of());
                RecordLoader loader = loader(10).epochs(3).open()) {
            while (loader.hasNext()) {
                RecordBatch batch = loader.next();
                MemoryRange memory = batch.memory();
                // The kernel runs late: a buffer that returned too early would hold other records by then.
                queue.enqueue(() -> sums.add(gpu.segment(memory).get(ValueLayout.JAVA_LONG, 0)));
                batch.close(stream);
            }
            queue.synchronize();
        }
        assertThat(sums).isEqualTo(LongStream.range(0, 30).map(i -> i % 10 * 10 * 31).boxed().toList());
    }

    @Test
    void closingWaitsForStreamsThatUseBatches() {
        List<Long> seen = new ArrayList<>();
        try (FakeStream queue = gpu.newStream();
                CuFileStream stream = gds.driver().stream(queue.address(), Set.of())) {
            try (RecordLoader loader = loader(10).open()) {
                RecordBatch batch = loader.next();
                MemoryRange memory = batch.memory();
                queue.enqueue(() -> seen.add(gpu.segment(memory).get(ValueLayout.JAVA_LONG, 8)));
                batch.close(stream);
                batch.close(stream);
            }
            assertThat(seen).containsExactly(1L);
        }
    }

    @Test
    void closedStreamLeavesTheBatchOpen() {
        try (FakeStream queue = gpu.newStream(); RecordLoader loader = loader(10).open()) {
            CuFileStream stream = gds.driver().stream(queue.address(), Set.of());
            stream.close();
            RecordBatch batch = loader.next();
            assertThatThrownBy(() -> batch.close(stream)).isInstanceOf(CuFileException.class);
            assertThat(batch.count()).isEqualTo(10);
            batch.close();
        }
    }

    @Test
    void badRecordsOfABatchAreLeftOut() throws IOException {
        Files.write(file, Arrays.copyOf(Files.readAllBytes(file), 24 * 90 + 5));
        try (RecordLoader loader = loader(20).order(RecordOrder.shuffled(3)).onError(ErrorPolicy.SKIP).open()) {
            assertThat(TestRecords.all(gds.driver(), loader))
                    .containsExactlyInAnyOrderElementsOf(LongStream.range(0, 90).boxed().toList());
            assertThat(loader.report().skipped()).isEqualTo(10);
        }
    }

    @Test
    void failedEntryOfABatchIsReadAgainToNameIt() {
        gds.faults().on(Call.reads()).file(file).always().fails(Errno.EIO);
        try (RecordLoader loader = loader(20).order(RecordOrder.shuffled(3)).open()) {
            assertThatThrownBy(loader::next).isInstanceOf(RecordException.class)
                    .hasMessageContaining(file.toString());
        }
    }

    @Test
    void readsThatWaitForADiskGoAsABatch() {
        gds.faults().on(Call.READ).file(file).always().delays(Duration.ofMillis(1));
        PlannedFault batches = gds.faults().on(Call.BATCH_READ).file(file).always().delays(Duration.ZERO);
        try (RecordLoader loader = loader(20).order(RecordOrder.shuffled(4)).open()) {
            assertThat(TestRecords.all(gds.driver(), loader))
                    .containsExactlyInAnyOrderElementsOf(LongStream.range(0, RECORDS).boxed().toList());
        }
        assertThat(batches.hits()).isPositive();
    }

    @Test
    void shortReadsTakeLittlePinnedMemory() {
        try (RecordLoader loader = loader(10).order(RecordOrder.shuffled(4)).open()) {
            TestRecords.all(gds.driver(), loader);
        }
        Map<MemoryKind, MemoryUsage> usage = gds.driver().allocator().usage();
        assertThat(usage.get(MemoryKind.CUDA_DEVICE).peakBytes()).isEqualTo(3 * 4096);
        assertThat(usage.get(MemoryKind.HOST_PINNED).peakBytes()).isBetween(4096L, 2 * 4096L);
    }

    @Test
    void failedOpenFreesTheMemory() {
        gds.faults().on(Call.OPEN).file(file).fails(Errno.EMFILE);
        assertThatThrownBy(() -> loader(10).open()).isInstanceOf(CuFileException.class);
        assertThat(gpu.availableBytes(0)).isEqualTo(1 << 20);
    }
}
