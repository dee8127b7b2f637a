package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Orders of records. A search for a place that never ends fails by the limit. */
@Timeout(value = 10, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RecordOrderTest {
    private static final long SEED = Long.getLong("gds4j.property.seed", System.nanoTime());

    private final Random random = new Random(SEED);

    private static long[] epoch(RecordOrder order, int records, long epoch) {
        return LongStream.range(0, records).map(index -> order.recordAt(index, records, epoch)).toArray();
    }

    private static void assertEachRecordOnce(RecordOrder order, int records, long epoch) {
        long[] sorted = epoch(order, records, epoch);
        Arrays.sort(sorted);
        assertThat(sorted).as("%s, %d records, seed %d", order, records, SEED)
                .isEqualTo(LongStream.range(0, records).toArray());
    }

    @Test
    void eachOrderHasEachRecordOnce() {
        for (int i = 0; i < 400; i++) {
            int records = 1 + random.nextInt(i < 200 ? 40 : 3000);
            long seed = random.nextLong();
            long epoch = random.nextInt(5);
            assertEachRecordOnce(RecordOrder.sequential(), records, epoch);
            assertEachRecordOnce(RecordOrder.shuffled(seed), records, epoch);
            assertEachRecordOnce(
                    RecordOrder.shuffledBlocks(seed, 1 + random.nextInt(50), 1 + random.nextInt(9)), records, epoch);
        }
    }

    @Test
    void hugeDataSetsKeepTheirRange() {
        long records = Long.MAX_VALUE - 3;
        for (RecordOrder order : List.of(RecordOrder.shuffled(SEED), RecordOrder.shuffledBlocks(SEED, 1000, 7))) {
            for (int i = 0; i < 1000; i++) {
                long index = random.nextLong(records);
                assertThat(order.recordAt(index, records, 0)).as("seed %d", SEED).isBetween(0L, records - 1);
            }
        }
        long key = random.nextLong();
        long index = random.nextLong(records);
        assertThat(Permutation.invert(Permutation.apply(index, records, key), records, key)).isEqualTo(index);
    }

    /** A program that resumes with a later version must meet the same order. The numbers come from another program. */
    @ParameterizedTest(name = "seed {0}, blocks {1} x {2}, {3} records, epoch {4}")
    @CsvSource({
            "42, 0, 0, 12, 0, 7 10 6 11 4 9 1 2 5 8 0 3",
            "42, 0, 0, 12, 1, 7 1 4 8 0 10 3 5 2 9 6 11",
            "-1, 0, 0, 10, 7, 6 5 3 4 0 8 7 1 2 9",
            "7, 0, 0, 1, 0, 0",
            "7, 0, 0, 2, 3, 1 0",
            "42, 3, 1, 11, 0, 9 10 0 1 2 6 7 8 3 4 5",
            "42, 3, 2, 11, 0, 10 2 9 0 1 8 6 7 4 5 3",
            "42, 3, 3, 11, 5, 6 7 10 9 1 2 8 0 3 4 5",
            "5, 4, 7, 11, 0, 3 6 7 8 0 4 10 1 2 9 5",
            "5, 100, 2, 11, 0, 3 9 10 4 0 7 6 1 2 5 8"
    })
    void orderOfASeedStaysForEver(long seed, long block, long window, int records, long epoch, String numbers) {
        RecordOrder order = block == 0 ? RecordOrder.shuffled(seed) : RecordOrder.shuffledBlocks(seed, block, window);
        assertThat(epoch(order, records, epoch))
                .isEqualTo(Arrays.stream(numbers.split(" ")).mapToLong(Long::parseLong).toArray());
    }

    @Test
    void orderOfTheLargestDataSetStaysForEver() {
        long records = Long.MAX_VALUE - 3;
        RecordOrder order = RecordOrder.shuffled(42);
        assertThat(LongStream.of(0, 1, records - 1).map(index -> order.recordAt(index, records, 0)))
                .containsExactly(66550256369366398L, 6880025302078595663L, 1574565307478970809L);
    }

    @Test
    void blocksAndWindowsOfHugeDataSetsDoNotOverflow() {
        long records = Long.MAX_VALUE;
        for (long block : new long[]{1, records / 2, records - 1, records}) {
            for (long window : new long[]{1, 2, records}) {
                RecordOrder order = RecordOrder.shuffledBlocks(3, block, window);
                assertThat(LongStream.of(0, 1, records / 2, records - 1)
                        .map(index -> order.recordAt(index, records, 0)))
                        .as("blocks of %d, windows of %d", block, window)
                        .allMatch(record -> record >= 0 && record < records).doesNotHaveDuplicates();
            }
        }
    }

    @Test
    void seedAndEpochDecideTheOrder() {
        long[] first = epoch(RecordOrder.shuffled(1), 1000, 0);
        assertThat(epoch(RecordOrder.shuffled(1), 1000, 0)).isEqualTo(first);
        assertThat(epoch(RecordOrder.shuffled(2), 1000, 0)).isNotEqualTo(first);
        assertThat(epoch(RecordOrder.shuffled(1), 1000, 1)).isNotEqualTo(first);
    }

    @Test
    void shuffledOrderLooksRandom() {
        long[] order = epoch(RecordOrder.shuffled(7), 1 << 16, 0);
        // In a random order of n records, about one stays in its place and about one follows its predecessor.
        long fixed = LongStream.range(0, order.length).filter(i -> order[(int) i] == i).count();
        long runs = LongStream.range(1, order.length).filter(i -> order[(int) i] == order[(int) i - 1] + 1).count();
        assertThat(fixed).isLessThan(10);
        assertThat(runs).isLessThan(10);
        // The mean distance of neighbours is a third of the number of records.
        double distance = LongStream.range(1, order.length).map(i -> Math.abs(order[(int) i] - order[(int) i - 1]))
                .average().orElseThrow();
        assertThat(distance / order.length).isBetween(0.32, 0.35);
    }

    @Test
    void windowOfOneBlockKeepsItInSequence() {
        long[] order = epoch(RecordOrder.shuffledBlocks(3, 10, 1), 95, 0);
        long breaks = LongStream.range(1, 95).filter(i -> order[(int) i] != order[(int) i - 1] + 1).count();
        assertThat(breaks).isLessThan(10);
        assertThat(order).isNotEqualTo(LongStream.range(0, 95).toArray());
    }

    @Test
    void windowMixesOnlyItsBlocks() {
        long[] order = epoch(RecordOrder.shuffledBlocks(3, 10, 3), 90, 0);
        for (int window = 0; window < 3; window++) {
            assertThat(Arrays.stream(order, window * 30, window * 30 + 30).map(record -> record / 10).distinct())
                    .hasSize(3);
        }
    }

    @Test
    void windowBoundsHowFarNeighboursAreAndBatchesHaveRecordsOfItsBlocks() {
        int block = 64;
        int window = 8;
        RecordOrder order = RecordOrder.shuffledBlocks(SEED, block, window);
        long[] epoch = epoch(order, block * window * 100, 0);
        long[] indexOf = new long[epoch.length];
        double blocks = 0;
        for (int batch = 0; batch < epoch.length; batch += block) {
            blocks += Arrays.stream(epoch, batch, batch + block).map(record -> record / block).distinct().count();
        }
        for (int i = 0; i < epoch.length; i++) {
            indexOf[(int) epoch[i]] = i;
        }
        long furthest = LongStream.range(1, epoch.length).filter(i -> i % block != 0)
                .map(i -> Math.abs(indexOf[(int) i] - indexOf[(int) i - 1])).max().orElseThrow();
        assertThat(furthest).as("seed %d", SEED).isBetween(block * window * 3L / 4, (long) block * window - 1);
        assertThat(blocks / (window * 100)).as("blocks of a batch, seed %d", SEED).isGreaterThan(window * 0.97);
    }

    @ParameterizedTest
    @CsvSource({"0, 1", "1, 0", "-1, 1", "1, -1"})
    void emptyBlocksAreRefused(long block, long window) {
        assertThatThrownBy(() -> RecordOrder.shuffledBlocks(1, block, window)).isInstanceOf(CuFileException.class)
                .hasMessageContaining(
                        "blocks of %d records, windows of %d blocks, allowed: 1 or more".formatted(block, window));
    }

    @ParameterizedTest
    @CsvSource({"0, 1, true", "4, 5, true", "-1, 1, false", "1, 1, false", "5, 5, false", "0, 0, false",
            "0, -1, false"})
    void rankIsOneOfTheWorld(int rank, int world, boolean allowed) {
        if (allowed) {
            assertThat(new Share(rank, world)).extracting(Share::rank, Share::world).containsExactly(rank, world);
        } else {
            assertThatThrownBy(() -> new Share(rank, world)).isInstanceOf(CuFileException.class).hasMessageContaining(
                    "rank is %d of %d, allowed: 0 to %d of 1 or more".formatted(rank, world, Math.max(0, world - 1)));
        }
    }
}
