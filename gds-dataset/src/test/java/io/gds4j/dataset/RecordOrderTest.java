package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

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
    void emptyBlocksAreRefused() {
        assertThatThrownBy(() -> RecordOrder.shuffledBlocks(1, 0, 1)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("blocks of 0 records, windows of 1 blocks, allowed: 1 or more");
    }
}
