package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.Gate;
import io.gds4j.testkit.GdsExtension;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongUnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

@Tag("slow")
@Timeout(60)
class RecordLoaderTest {
    private static final int RECORDS = 103;
    private static final long SEED = Long.getLong("gds4j.property.seed", System.nanoTime());

    @RegisterExtension
    final GdsExtension gds = GdsExtension.create();

    @TempDir
    Path folder;

    private Path first = Path.of("");
    private Path second = Path.of("");
    private RecordSource source = TestRecords.none();

    @BeforeEach
    void makeRecords() throws IOException {
        first = TestRecords.write(folder.resolve("first"), 10, 0, 60);
        second = TestRecords.write(folder.resolve("second"), 10, 60, RECORDS);
        source = RecordFiles.afterHeader(List.of(first, second), 10, TestRecords.LENGTH);
    }

    private RecordLoader.Builder loader(int batch) {
        return RecordLoader.builder(gds.driver(), source, batch).target(MemoryKind.HOST, 0).readers(3)
                .memory(1 << 20);
    }

    /** Returns the state of a rank at a position. */
    private static LoaderState at(RecordOrder order, Share share, int batch, long position) {
        return new LoaderState(
                new RecordPlan(order, RECORDS, DoneRecords.NONE, share.world(), batch, Remainder.KEEP), true,
                Map.of(share.rank(), position));
    }

    private RecordLoader.Builder resumed(int batch, long position) {
        return loader(batch).resume(at(RecordOrder.sequential(), Share.WHOLE, batch, position));
    }

    private List<Long> all(RecordLoader.Builder builder) {
        try (RecordLoader loader = builder.open()) {
            return TestRecords.all(gds.driver(), loader);
        }
    }

    private static List<Long> upTo(long end) {
        return LongStream.range(0, end).boxed().toList();
    }

    @Test
    void sequentialOrderDeliversFilesOneAfterTheOther() {
        assertThat(all(loader(10))).isEqualTo(upTo(RECORDS));
    }

    @Test
    void lastBatchOfAnEpochIsShort() {
        try (RecordLoader loader = loader(50).epochs(2).open()) {
            List<Integer> counts = new ArrayList<>();
            List<Long> epochs = new ArrayList<>();
            while (loader.hasNext()) {
                try (RecordBatch batch = loader.next()) {
                    counts.add(batch.count());
                    epochs.add(batch.epoch());
                }
            }
            assertThat(counts).containsExactly(50, 50, 3, 50, 50, 3);
            assertThat(epochs).containsExactly(0L, 0L, 0L, 1L, 1L, 1L);
            assertThatThrownBy(loader::next).isInstanceOf(NoSuchElementException.class);
        }
    }

    @Test
    void segmentsAreTheRecordsOfABatch() {
        try (RecordLoader loader = resumed(10, 20).open();
                RecordBatch batch = loader.next()) {
            for (int i = 0; i < batch.count(); i++) {
                MemorySegment record = batch.segment(i);
                assertThat(record.byteSize()).isEqualTo(TestRecords.LENGTH);
                assertThat(record.get(ValueLayout.JAVA_LONG_UNALIGNED, 0)).isEqualTo(batch.record(i) * 31);
            }
            assertThatThrownBy(() -> batch.segment(10)).isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    @Test
    void loopClosesEachBatchBeforeTheNext() {
        List<RecordBatch> seen = new ArrayList<>();
        List<Integer> counts = new ArrayList<>();
        // Two batches fit, so a loop that left batches open would end with ETIMEDOUT.
        try (RecordLoader loader = loader(10).memory(2 * 4096).closeTimeout(Duration.ZERO).epochs(3).open()) {
            for (RecordBatch batch : loader) {
                assertThat(seen).allSatisfy(RecordLoaderTest::isClosed);
                counts.add(batch.count());
                seen.add(batch);
            }
            assertThat(seen.getLast()).satisfies(RecordLoaderTest::isClosed);
        }
        assertThat(counts.stream().mapToInt(i -> i).sum()).isEqualTo(3 * RECORDS);
    }

    @Test
    void batchOfALoopThatEndedEarlyClosesWithTheLoader() {
        RecordBatch left;
        try (RecordLoader loader = loader(10).open()) {
            left = loader.iterator().next();
            assertThat(left.count()).isEqualTo(10);
        }
        assertThat(left).satisfies(RecordLoaderTest::isClosed);
    }

    @Test
    void batchesAreAStreamThatClosesThem() {
        List<RecordBatch> seen = new ArrayList<>();
        try (RecordLoader loader = loader(10).memory(2 * 4096).closeTimeout(Duration.ZERO).open()) {
            try (Stream<RecordBatch> batches = loader.batches().parallel().peek(seen::add)) {
                assertThat(batches.mapToInt(RecordBatch::count).limit(5).sum()).isEqualTo(50);
            }
            assertThat(seen).hasSizeGreaterThanOrEqualTo(5).allSatisfy(RecordLoaderTest::isClosed);
            long left = loader.recordsLeft();
            assertThat(loader.batches().mapToLong(RecordBatch::count).sum()).isEqualTo(left).isLessThan(RECORDS);
            assertThat(loader.batches()).isEmpty();
            assertThat(loader.iterator()).isExhausted();
        }
    }

    private static void isClosed(RecordBatch batch) {
        assertThatThrownBy(batch::count).hasMessageContaining("the batch is closed");
    }

    @Test
    void ranksShareEachEpoch() {
        Random random = new Random(SEED);
        for (RecordOrder order : List.of(RecordOrder.sequential(), RecordOrder.shuffled(5),
                RecordOrder.shuffledBlocks(5, 7, 3))) {
            int world = 1 + random.nextInt(30);
            List<Long> epoch = new ArrayList<>();
            List<Integer> sizes = new ArrayList<>();
            for (int rank = 0; rank < world; rank++) {
                List<Long> part = all(loader(1 + random.nextInt(40)).order(order).share(new Share(rank, world)));
                epoch.addAll(part);
                sizes.add(part.size());
            }
            assertThat(epoch).as("seed %d", SEED).containsExactlyInAnyOrderElementsOf(upTo(RECORDS));
            assertThat(sizes.stream().mapToInt(i -> i).max().orElse(0)
                    - sizes.stream().mapToInt(i -> i).min().orElse(0)).isLessThan(2);
        }
    }

    @Test
    void droppingGivesAllRanksWholeBatches() {
        List<Long> epoch = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            List<Long> part = all(loader(10).order(RecordOrder.shuffled(1)).share(new Share(rank, 4))
                    .remainder(Remainder.DROP));
            assertThat(part).hasSize(20);
            epoch.addAll(part);
        }
        assertThat(epoch).doesNotHaveDuplicates();
    }

    @Test
    void paddingGivesAllRanksWholeBatches() {
        List<Long> epoch = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            List<Long> part = all(loader(10).order(RecordOrder.shuffled(1)).share(new Share(rank, 4))
                    .remainder(Remainder.PAD));
            assertThat(part).hasSize(30);
            epoch.addAll(part);
        }
        assertThat(epoch).containsAll(upTo(RECORDS));
    }

    @Test
    void orderDoesNotDependOnThreads() {
        RecordOrder order = RecordOrder.shuffled(99);
        assertThat(all(loader(8).order(order).epochs(2).readers(12)))
                .isEqualTo(all(loader(8).order(order).epochs(2).readers(1)));
    }

    @Test
    void resumesAtEveryPosition() {
        for (RecordOrder order : List.of(RecordOrder.shuffled(4), RecordOrder.shuffledBlocks(4, 9, 2))) {
            Share share = new Share(1, 4);
            List<Long> whole = all(loader(16).order(order).epochs(2).share(share));
            for (int position = 0; position <= whole.size(); position++) {
                LoaderState state = at(order, share, 16, position);
                assertThat(all(loader(16).order(order).epochs(2).share(share).resume(state)))
                        .isEqualTo(whole.subList(position, whole.size()));
            }
        }
    }

    @Test
    void nextEpochIsReadBeforeTheFirstBatchIsTaken() {
        // Each epoch has two reads of the first file: records 0 to 29 and 30 to 59.
        Gate gate = gds.faults().on(Call.READ).file(first).nth(3).holds();
        try (RecordLoader loader = loader(30).readers(1).epochs(2).open()) {
            gate.awaitArrival();
            assertThat(loader.recordsLeft()).isEqualTo(2 * RECORDS);
            gate.open();
            assertThat(TestRecords.all(gds.driver(), loader)).hasSize(2 * RECORDS);
        }
    }

    @Test
    void readerThatHangsHoldsUpNoOther() {
        Gate gate = gds.faults().on(Call.READ).file(first).nth(1).holds();
        Gate last = gds.faults().on(Call.READ).file(second).nth(2).holds();
        last.open();
        try (RecordLoader loader = loader(30).readers(2).open()) {
            last.awaitArrival();
            gate.open();
            assertThat(TestRecords.all(gds.driver(), loader)).isEqualTo(upTo(RECORDS));
        }
    }

    @Test
    void readsOneEpochAlone() {
        RecordOrder order = RecordOrder.shuffled(4);
        Share share = new Share(1, 4);
        List<Long> whole = all(loader(16).order(order).epochs(3).share(share));
        int epoch = whole.size() / 3;
        assertThat(all(loader(16).order(order).epochs(2).firstEpoch(1).share(share)))
                .isEqualTo(whole.subList(epoch, 2 * epoch));
        // the later start counts
        assertThat(all(loader(16).order(order).epochs(3).firstEpoch(1).share(share)
                .resume(at(order, share, 16, epoch + 7))))
                .isEqualTo(whole.subList(epoch + 7, whole.size()));
        assertThat(all(loader(16).order(order).epochs(3).firstEpoch(2).share(share)
                .resume(at(order, share, 16, 7))))
                .isEqualTo(whole.subList(2 * epoch, whole.size()));
        assertThatThrownBy(() -> loader(16).firstEpoch(2).open())
                .hasMessageContaining("the loader begins in epoch 2, allowed: before the end of epoch 0, its last one");
    }

    @Test
    void stateOfABatchContinuesBehindIt() {
        LoaderState state;
        try (RecordLoader loader = loader(40).open()) {
            RecordBatch batch = loader.next();
            assertThat(loader.state()).isEqualTo(batch.state());
            batch.close();
            state = batch.state();
            loader.next().close();
            assertThat(loader.state()).isNotEqualTo(state);
        }
        assertThat(all(loader(40).resume(state))).isEqualTo(upTo(RECORDS).subList(40, RECORDS));
    }

    @Test
    void otherNumberOfRanksReadsWhatIsLeft() {
        RecordOrder order = RecordOrder.shuffled(3);
        List<Long> seen = new ArrayList<>();
        List<LoaderState> states = new ArrayList<>();
        for (int rank = 0; rank < 4; rank++) {
            try (RecordLoader loader = loader(5).order(order).epochs(2).share(new Share(rank, 4)).open()) {
                for (int batches = 0; batches < 2 + rank; batches++) {
                    seen.addAll(TestRecords.close(gds.driver(), loader.next()));
                }
                states.add(LoaderState.parse(loader.state().json()));
            }
        }
        LoaderState merged = LoaderState.merge(states);
        for (int rank = 0; rank < 3; rank++) {
            seen.addAll(all(loader(7).order(order).epochs(1).share(new Share(rank, 3)).readers(1).resume(merged)));
        }
        assertThat(seen).containsExactlyInAnyOrderElementsOf(upTo(RECORDS));
        assertThatThrownBy(() -> loader(7).order(order).share(new Share(0, 3))
                .resume(LoaderState.merge(states.subList(1, 3))).open()).hasMessageContaining(
                        "the state knows 2 of 4 ranks, and these had different numbers of batches: merge the states");
    }

    @Test
    void openBatchesFailTheNextInsteadOfADeadlock() {
        List<RecordBatch> open = new ArrayList<>();
        try (RecordLoader loader = loader(10).memory(3 * 4096).closeTimeout(Duration.ofMillis(20)).open()) {
            for (int i = 0; i < 3; i++) {
                open.add(loader.next());
            }
            assertThatThrownBy(loader::next).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("all 3 buffers belong to batches that are not closed, for 20 ms");
            open.removeFirst().close();
            open.add(loader.next());
            assertThat(open.getLast().record(0)).isEqualTo(30);
        } finally {
            open.forEach(RecordBatch::close);
        }
    }

    @Test
    void memoryStaysWithinItsBound() {
        try (RecordLoader loader = loader(10).memory(20_000).open()) {
            TestRecords.all(gds.driver(), loader);
            assertThat(loader.report().memoryBytes()).isEqualTo(4 * 4096);
        }
        assertThatThrownBy(() -> loader(100).memory(4095).open()).hasMessageContaining("two of them do not fit into");
        assertThatThrownBy(() -> loader(200).memory(4095).open())
                .hasMessageContaining("a batch of 200 records of 24 bytes exceeds the 4095 bytes allowed");
    }

    @Test
    void prefetchLimitsTheBatchesInMemory() {
        try (RecordLoader loader = loader(10).prefetch(2).open()) {
            assertThat(TestRecords.all(gds.driver(), loader)).isEqualTo(upTo(RECORDS));
            assertThat(loader.report().memoryBytes()).isEqualTo(3 * 4096);
        }
        try (RecordLoader loader = loader(10).memory(20_000).prefetch(Integer.MAX_VALUE).open()) {
            assertThat(loader.report().memoryBytes()).isEqualTo(4 * 4096);
        }
        assertThatThrownBy(() -> loader(10).prefetch(0)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("prefetch is 0");
    }

    @Test
    void batchesOutliveTheLoader() {
        RecordLoader loader = loader(10).open();
        RecordBatch batch = loader.next();
        loader.close();
        loader.close();
        assertThat(TestRecords.close(gds.driver(), batch)).isEqualTo(upTo(10));
        assertThatThrownBy(loader::next).hasMessageContaining("the loader is closed");
        assertThatThrownBy(batch::memory).hasMessageContaining("the batch is closed");
    }

    @Test
    void timedFormReturnsNothingWhileAReadHangs() {
        Gate gate = gds.faults().on(Call.reads()).file(first).holds();
        try (RecordLoader loader = loader(50).readers(1).open()) {
            assertThat(loader.poll(Duration.ofMillis(1))).isEmpty();
            gate.open();
            Optional<RecordBatch> batch = loader.poll(Duration.ofDays(1));
            assertThat(TestRecords.close(gds.driver(), batch.orElseThrow())).isEqualTo(upTo(50));
        }
    }

    @Test
    void interruptedConsumerLosesNoBatch() {
        Gate gate = gds.faults().on(Call.reads()).file(first).holds();
        try (RecordLoader loader = loader(50).readers(1).open()) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(loader::next).isInstanceOf(CuFileInterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
            gate.open();
            assertThat(TestRecords.close(gds.driver(), loader.next())).isEqualTo(upTo(50));
        }
    }

    @Test
    void futuresGetBatchesInTheOrderOfTheCalls() {
        try (RecordLoader loader = loader(50).open()) {
            CompletableFuture<RecordBatch> one = loader.nextAsync();
            CompletableFuture<RecordBatch> two = loader.nextAsync();
            CompletableFuture<RecordBatch> three = loader.nextAsync();
            CompletableFuture<RecordBatch> four = loader.nextAsync();
            assertThat(TestRecords.close(gds.driver(), one.join())).startsWith(0L);
            assertThat(TestRecords.close(gds.driver(), two.join())).startsWith(50L);
            assertThat(TestRecords.close(gds.driver(), three.join())).startsWith(100L);
            assertThatThrownBy(four::join).hasRootCauseInstanceOf(NoSuchElementException.class);
        }
    }

    /** A consumer that cancels at the moment of the delivery once got a later batch before the one it had given up. */
    @Test
    void cancelledFuturesKeepTheOrder() {
        int epochs = 1000;
        List<Long> seen = new ArrayList<>();
        try (RecordLoader loader = loader(1).epochs(epochs).readers(6).open()) {
            while (loader.hasNext()) {
                CompletableFuture<RecordBatch> next = loader.nextAsync();
                for (int i = seen.size() % 100; i > 0 && !next.isDone(); i--) {
                    Thread.onSpinWait();
                }
                RecordBatch batch = next.cancel(false) ? loader.next() : next.join();
                seen.addAll(TestRecords.close(gds.driver(), batch));
            }
            assertThat(loader.report().records()).isEqualTo((long) epochs * RECORDS);
        }
        assertThat(seen)
                .isEqualTo(IntStream.range(0, epochs).boxed().flatMap(epoch -> upTo(RECORDS).stream()).toList());
    }

    @Test
    void futuresThatTheCallerCompletesTakeNoBatch() {
        RecordBatch own;
        try (RecordLoader other = loader(50).open()) {
            own = other.next();
        }
        Gate gate = gds.faults().on(Call.reads()).file(first).holds();
        try (own; RecordLoader loader = loader(50).readers(1).open()) {
            CompletableFuture<RecordBatch> given = loader.nextAsync();
            CompletableFuture<RecordBatch> supplied = loader.nextAsync().completeAsync(() -> own, Runnable::run);
            CompletableFuture<RecordBatch> late = loader.nextAsync().orTimeout(1, TimeUnit.MILLISECONDS);
            assertThat(given.complete(own)).isTrue();
            assertThatThrownBy(late::join).hasRootCauseInstanceOf(TimeoutException.class);
            assertThat(given.complete(own)).isFalse();
            assertThat(given.join()).isSameAs(supplied.join());
            gate.open();
            assertThat(TestRecords.close(gds.driver(), loader.next())).isEqualTo(upTo(50));
        }
    }

    @Test
    void failedRecordIsNamed() {
        gds.faults().on(Call.READ).file(second).always().fails(Errno.EIO);
        try (RecordLoader loader = loader(30).readers(1).open()) {
            assertThat(TestRecords.close(gds.driver(), loader.next())).isEqualTo(upTo(30));
            assertThat(TestRecords.close(gds.driver(), loader.next())).startsWith(30L);
            assertThatThrownBy(loader::next).isInstanceOfSatisfying(RecordException.class, e -> {
                assertThat(e.record()).isEqualTo(60);
                assertThat(e.path()).contains(second);
                assertThat(e.fileOffset()).hasValue(10);
                assertThat(e.errno()).hasValue(Errno.EIO);
                assertThat(e).hasMessageContaining("record 60: ");
            });
            assertThatThrownBy(loader::next).isInstanceOf(RecordException.class);
        }
    }

    @Test
    void recordsOfAFileThatShrinksAreNamed() throws IOException {
        byte[] bytes = Files.readAllBytes(second);
        try (RecordLoader loader = resumed(30, 60).epochs(2).open()) {
            assertThat(TestRecords.close(gds.driver(), loader.next())).startsWith(60L);
        }
        Files.write(second, Arrays.copyOf(bytes, 10 + 24 * 5 + 7));
        try (RecordLoader loader = resumed(30, 60).open()) {
            assertThatThrownBy(loader::next).isInstanceOfSatisfying(RecordException.class, e -> {
                assertThat(e.record()).isEqualTo(65);
                assertThat(e.bytesTransferred()).isEqualTo(7);
                assertThat(e).hasMessageContaining("record 65: the file became shorter and ends inside the record");
            });
        }
    }

    @Test
    void skippingLeavesOutBadRecordsAndCounts() throws IOException {
        byte[] bytes = Files.readAllBytes(first);
        Files.write(first, Arrays.copyOf(bytes, 10 + 24 * 55 + 7));
        for (RecordOrder order : List.of(RecordOrder.sequential(), RecordOrder.shuffled(8))) {
            try (RecordLoader loader = loader(16).order(order).onError(ErrorPolicy.SKIP).open()) {
                List<Long> records = TestRecords.all(gds.driver(), loader);
                assertThat(records).hasSize(RECORDS - 5).doesNotContain(55L, 56L, 57L, 58L, 59L)
                        .doesNotHaveDuplicates();
                assertThat(loader.report().skipped()).isEqualTo(5);
                assertThat(loader.report().records()).isEqualTo(RECORDS - 5);
            }
        }
    }

    @Test
    void reportCountsAndTimes() {
        try (RecordLoader loader = loader(10).open()) {
            TestRecords.all(gds.driver(), loader);
            LoaderReport report = loader.report();
            assertThat(report.records()).isEqualTo(RECORDS);
            assertThat(report.bytes()).isEqualTo(RECORDS * 24L);
            assertThat(report.batches()).isEqualTo(11);
            assertThat(report.seconds()).isPositive();
            assertThat(report.bytesPerSecond()).isPositive();
            assertThat(report.waitingForDataSeconds()).isNotNegative();
        }
    }

    @Test
    void positionBehindTheEndIsRefused() {
        assertThatThrownBy(() -> resumed(10, RECORDS + 1).open())
                .hasMessageContaining("the loader begins in epoch 1, allowed: before the end of epoch 0, its last one");
        assertThatThrownBy(() -> new Share(2, 2)).hasMessageContaining("rank is 2 of 2, allowed: 0 to 1");
        assertThatThrownBy(() -> loader(0)).hasMessageContaining("batch is 0, allowed: 1 to");
    }

    @Test
    void recordsOfDifferentLengthsComeWithOffsets() throws IOException {
        Random random = new Random(SEED);
        ByteBuffer index = ByteBuffer.allocate(34 + 200 * 12 + 16).order(ByteOrder.LITTLE_ENDIAN);
        index.put("MMIDIDX\0\0".getBytes(StandardCharsets.ISO_8859_1)).putLong(1).put((byte) 1).putLong(200).putLong(2);
        ByteArrayOutputStream tokens = new ByteArrayOutputStream();
        List<Integer> starts = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            int length = random.nextInt(3) == 0 ? 0 : random.nextInt(3000);
            starts.add(tokens.size());
            index.putInt(length);
            for (int k = 0; k < length; k++) {
                tokens.write(i);
            }
        }
        starts.forEach(start -> index.putLong(start));
        index.putLong(0).putLong(200);
        Files.write(folder.resolve("t.idx"), index.array());
        Path bin = Files.write(folder.resolve("t.bin"), tokens.toByteArray());
        RecordSource sequences = RecordFiles.open(List.of(bin));
        List<Long> seen = new ArrayList<>();
        try (RecordLoader loader = RecordLoader.builder(gds.driver(), sequences, 16)
                .order(RecordOrder.shuffled(6)).target(MemoryKind.HOST, 0).memory(40_000).open()) {
            while (loader.hasNext()) {
                try (RecordBatch batch = loader.next()) {
                    assertThat(batch.memory().length()).isLessThanOrEqualTo(8192);
                    byte[] bytes = new byte[(int) batch.memory().length()];
                    gds.driver().allocator().copyToHost(batch.memory(), MemorySegment.ofArray(bytes));
                    for (int i = 0; i < batch.count(); i++) {
                        seen.add(batch.record(i));
                        assertThat(batch.length(i)).isEqualTo(sequences.length(batch.record(i)));
                        for (long k = batch.offset(i); k < batch.offset(i) + batch.length(i); k++) {
                            assertThat(bytes[(int) k]).as("seed %d", SEED).isEqualTo((byte) batch.record(i));
                        }
                    }
                }
            }
        }
        assertThat(seen).as("seed %d", SEED).containsExactlyInAnyOrderElementsOf(upTo(200));
    }

    /** Records of 8 bytes; one breaks the contract of a source. */
    private record BadSource(Path file, boolean isFixedLength, int bad, LongUnaryOperator badLength)
            implements
                RecordSource {
        @Override
        public List<Path> files() {
            return List.of(file);
        }

        @Override
        public long records() {
            return 30;
        }

        @Override
        public long maxLength() {
            return 8;
        }

        @Override
        public int file(long record) {
            return 0;
        }

        @Override
        public long fileOffset(long record) {
            return record * 8;
        }

        @Override
        public long length(long record) {
            return record == bad ? badLength.applyAsLong(record) : 8;
        }
    }

    @Test
    void sourceThatBreaksItsContractFailsTheBatch() {
        for (boolean fixed : new boolean[]{true, false}) {
            assertSourceFails(fixed, record -> 100_000, "record 25 has 100000 bytes, allowed by its source: 0 to 8");
            assertSourceFails(
                    fixed, record -> Long.MAX_VALUE,
                    "record 25 has 9223372036854775807 bytes, allowed by its source: 0 to 8");
            assertSourceFails(fixed, record -> -1, "record 25 has -1 bytes, allowed by its source: 0 to 8");
            assertSourceFails(fixed, record -> {
                throw new IllegalStateException("no index");
            }, "no index");
        }
    }

    private void assertSourceFails(boolean fixed, LongUnaryOperator badLength, String message) {
        BadSource bad = new BadSource(first, fixed, 25, badLength);
        try (RecordLoader loader = RecordLoader.builder(gds.driver(), bad, 10).target(MemoryKind.HOST, 0)
                .memory(1 << 20).open()) {
            loader.next().close();
            loader.next().close();
            assertThatThrownBy(() -> {
                loader.next().close(); // records before the bad one may be a batch
                loader.next();
            }).hasMessageContaining(message);
        }
    }

    @Test
    void moreRanksThanRecordsLeaveSomeWithout() {
        assertThat(all(loader(4).share(new Share(200, 300)))).isEmpty();
    }
}
