package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.dataset.RecordOrder.ShuffledBlocks;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.GdsExtension;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** How many reads an order of windows takes. Each case also compares all records with the order. */
@Timeout(60)
class WindowBlocksTest {
    private static final int RECORDS = 1000;

    /** Records of the first file: the block of 600 to 649 has some of both. */
    private static final int CUT = 625;

    private static final RecordOrder ORDER = RecordOrder.shuffledBlocks(6, 50, 4);

    @RegisterExtension
    final GdsExtension gds = GdsExtension.create();

    @TempDir
    Path folder;

    private RecordSource source(int header) throws IOException {
        return RecordFiles.afterHeader(
                List.of(TestRecords.write(folder.resolve("a"), header, 0, CUT),
                        TestRecords.write(folder.resolve("b"), header, CUT, RECORDS)),
                header, TestRecords.LENGTH);
    }

    /** Returns the reads of an epoch, but those of batches of requests. */
    private long reads(RecordSource source, RecordOrder order, long memory) {
        long before = gds.faults().count(Call.READ);
        try (RecordLoader loader = RecordLoader.builder(gds.driver(), source, 16).order(order)
                .target(MemoryKind.HOST, 0).readers(3).memory(memory).open()) {
            assertThat(TestRecords.all(gds.driver(), loader)).isEqualTo(LongStream.range(0, source.records())
                    .map(index -> order.recordAt(index, source.records(), 0)).boxed().toList());
        }
        return gds.faults().count(Call.READ) - before;
    }

    @Test
    void eachBlockIsReadOnce() throws IOException {
        assertThat(reads(source(10), ORDER, 1 << 20)).as("20 blocks, one of two files")
                .isEqualTo(21);
    }

    /** Blocks of places that are neighbours are in memory at the same time, also where an epoch ends. */
    @Test
    void placesOfBlocksAreCountedOverEpochs() {
        ShuffledBlocks order = new ShuffledBlocks(6, 50, 4);
        assertThat(LongStream.range(0, 60).map(block -> order.place(block % 20, RECORDS - 3, block / 20)).sorted())
                .containsExactly(LongStream.range(0, 60).boxed().toArray(Long[]::new));
    }

    @Test
    void blocksThatDoNotFitAreReadRecordByRecord() throws IOException {
        assertThat(reads(source(10), ORDER, 3 * 4096)).isGreaterThan(900);
    }

    @Test
    void blockThatCannotBeReadIsReadRecordByRecord() throws IOException {
        gds.faults().on(Call.READ).nth(1).fails(Errno.EIO);
        assertThat(reads(source(10), ORDER, 1 << 20)).isBetween(60L, 71L);
    }

    /** Records that lie in the file from the last one to the first. */
    private record Backwards(Path file, long records) implements TestRecords.InOneFile {
        @Override
        public long maxLength() {
            return TestRecords.LENGTH;
        }

        @Override
        public long fileOffset(long record) {
            return (records - 1 - record) * TestRecords.LENGTH;
        }

        @Override
        public long length(long record) {
            return TestRecords.LENGTH;
        }
    }

    @Test
    void recordsInNoOrderOnTheDiskAreReadOneByOne() throws IOException {
        RecordSource source = new Backwards(source(0).files().getFirst(), CUT);
        try (RecordLoader loader = RecordLoader.builder(gds.driver(), source, 16).order(ORDER)
                .target(MemoryKind.HOST, 0).memory(1 << 20).open()) {
            for (RecordBatch batch : loader) {
                for (int i = 0; i < batch.count(); i++) {
                    long written = batch.segment(i).get(ValueLayout.JAVA_LONG_UNALIGNED, 0) / 31;
                    assertThat(written).isEqualTo(CUT - 1 - batch.record(i));
                }
            }
        }
    }

    @Test
    void orderOfOneBlockNeedsNoCopies() throws IOException {
        assertThat(reads(source(10), RecordOrder.shuffledBlocks(6, 50, 1), 1 << 20))
                .as("a read of each batch or block").isBetween(20L, 90L);
    }
}
